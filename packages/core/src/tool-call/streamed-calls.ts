/** What becomes known of calls while their model call streams: who asks for them, what the reader has seen, and whether they still come. */

import type { Context } from '@opentelemetry/api'
import { messageOf } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import { earlyFor, mayStartFor } from '../machine/calls.ts'
import { announced, attemptEnded, modelCalled } from '../machine/decide.ts'
import type { ToolCall } from '../message.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import type { RunState } from '../run/run.ts'
import { findTool, resolveAliases } from './aliases.ts'
import type { CallEvents } from './call-events.ts'
import type { CallTable } from './call-table.ts'
import { sameCall } from './canonical.ts'
import type { CommitGate } from './commit-gate.ts'

interface Parts {
  readonly run: RunState
  readonly events: CallEvents
  readonly table: CallTable
  /** The contexts of the attempts at work. */
  readonly contexts: Map<number, Context>
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
    const { table, contexts, warmUps, events } = this.#parts
    modelCalled(table.state)
    contexts.clear()
    warmUps.renew()
    events.renew()
  }

  /** A model attempt announced a call, or, as number 0, a wrap that answers itself. The first who does counts. */
  announced(callId: string, attempt: number, context?: Context): void {
    const { run, table, contexts } = this.#parts
    if (!announced(table.state, callId, attempt)) return
    run.history.takenIds.add(callId)
    if (context && !contexts.has(attempt)) contexts.set(attempt, context)
  }

  /** {@link Run.warm}. */
  warm(callId: string, name: string, failed: (message: string) => void): void {
    const { run, table, warmUps } = this.#parts
    const attempt = table.state.response.askedBy.get(callId)
    const tool = findTool(run.setup.tools, name)
    if (!tool || attempt === undefined || !mayStartFor(table.state, attempt) || table.get(callId)) return
    warmUps.begin(tool, callId, (error) => failed(`warm of ${name} threw: ${messageOf(error)}`))
  }

  /** The reader is shown a call: what the call has emitted follows. A sealed call whose arguments changed is let go of (H8). */
  shown(written: ToolCall, sealed: boolean): void {
    const { run, events, table, gate } = this.#parts
    const call = resolveAliases(written, run.setup.tools)
    events.announced(call)
    const entry = table.get(call.id)
    if (!entry?.provisional || entry.rest?.isOpen) return
    if (!sealed || sameCall(entry.call, call)) events.show(entry)
    else {
      gate.discard(entry, 'arguments_changed')
      table.turns.advance()
    }
  }

  /**
   * An attempt's stream is over. If it broke off, no call of it starts any more (G11), and none whose input is not whole can be
   * joined by another (H32). Gives how many had started.
   */
  attemptEnded(attempt: number, brokeOff: DiscardCause | undefined): number {
    const { table, warmUps, gate } = this.#parts
    const { state } = table
    const { attempts, askedBy } = state.response
    if (!attempts.has(attempt)) return 0
    attemptEnded(state, attempt, performance.now(), brokeOff !== undefined)
    const early = earlyFor(state, attempt).flatMap(({ number }) => table.of(number) ?? [])
    if (brokeOff) {
      for (const entry of early) if (entry.rest?.isOpen) gate.discard(entry, brokeOff)
      const ids = [...askedBy].flatMap(([id, by]) => (by === attempt ? [id] : []))
      warmUps.drop('the response broke off', ids)
    }
    // What it had asked for and has not begun makes room.
    table.turns.advance()
    return early.length
  }
}
