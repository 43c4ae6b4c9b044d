/** What becomes known of calls while their model call streams: who asks for them, what the reader has seen, and whether they still come. */

import type { Context } from '@opentelemetry/api'
import { messageOf } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import type { ToolCall } from '../message.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import type { RunState } from '../run/run.ts'
import type { Slots } from '../slots/slots.ts'
import { findTool, resolveAliases } from './aliases.ts'
import type { Askers } from './askers.ts'
import type { CallEvents } from './call-events.ts'
import { sameCall } from './canonical.ts'
import type { CommitGate } from './commit-gate.ts'
import type { Ledger } from './ledger.ts'

interface Parts {
  readonly run: RunState
  readonly events: CallEvents
  readonly slots: Slots
  readonly ledger: Ledger
  readonly askers: Askers
  readonly warmUps: WarmUps
  readonly gate: CommitGate
}

export class StreamedCalls {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** A step's model call begins, with calls of its own. */
  renew(): void {
    const { askers, warmUps, events } = this.#parts
    askers.renew()
    warmUps.renew()
    events.renew()
  }

  /** A model attempt announced a call, or, as number 0, a wrap that answers itself. The first who does counts. */
  announced(callId: string, attempt: number, context?: Context): void {
    const { run, askers } = this.#parts
    if (askers.announced(callId, attempt, context)) run.history.takenIds.add(callId)
  }

  /** {@link Run.warm}. */
  warm(callId: string, name: string, failed: (message: string) => void): void {
    const { run, askers, ledger, warmUps } = this.#parts
    const asker = askers.of(callId)
    const tool = findTool(run.setup.tools, name)
    if (!tool || !asker || !askers.mayStart(asker) || ledger.get(callId)) return
    warmUps.begin(tool, callId, (error) => failed(`warm of ${name} threw: ${messageOf(error)}`))
  }

  /** The reader is shown a call: what the call has emitted follows. A sealed call whose arguments changed is let go of (H8). */
  shown(written: ToolCall, sealed: boolean): void {
    const { run, events, ledger, gate, slots } = this.#parts
    const call = resolveAliases(written, run.setup.tools)
    events.announced(call)
    const entry = ledger.get(call.id)
    if (!entry?.provisional || entry.rest?.isOpen) return
    if (!sealed || sameCall(entry.call, call)) events.show(entry)
    else {
      gate.discard(entry, 'arguments_changed')
      slots.advance()
    }
  }

  /**
   * An attempt's stream is over. If it broke off, no call of it starts any more (G11), and none whose input is not whole can be
   * joined by another (H32). Gives how many had started.
   */
  attemptEnded(attempt: number, brokeOff: DiscardCause | undefined): number {
    const { slots, ledger, askers, warmUps, gate } = this.#parts
    const asker = askers.attempt(attempt)
    if (!asker) return 0
    asker.ended = performance.now()
    asker.over = brokeOff !== undefined
    const early = ledger.entries().filter((entry) => entry.startedEarly && entry.askers[0] === asker)
    if (brokeOff) {
      for (const entry of ledger.entries()) if (entry.askers.includes(asker)) slots.changed(entry)
      for (const entry of early) if (entry.rest?.isOpen) gate.discard(entry, brokeOff)
      warmUps.drop(new Error('the response broke off'), askers.callsOf(asker))
    }
    // What it had asked for and has not begun makes room.
    slots.advance()
    return early.length
  }
}
