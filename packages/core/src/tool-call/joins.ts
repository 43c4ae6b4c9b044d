/** Which calls are made already: under their ids, or for an earlier attempt that asked for the same (H22). */

import type { ToolCall } from '../message.ts'
import type { NeedsStarts } from '../needs/needs-starts.ts'
import type { RunState } from '../run/run.ts'
import { link } from '../telemetry/spans.ts'
import { findTool } from './aliases.ts'
import type { Asker, Askers } from './askers.ts'
import type { CallEntry } from './call-entry.ts'
import { sameCall } from './canonical.ts'
import type { CommitGate } from './commit-gate.ts'
import type { Ledger } from './ledger.ts'
import { isStale } from './stale-read.ts'

interface Parts {
  readonly run: RunState
  readonly askers: Askers
  readonly ledger: Ledger
  readonly gate: CommitGate
  readonly needs: NeedsStarts
}

export class Joins {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Of the calls of a response, those that are made already. */
  findAll(calls: readonly ToolCall[]): ReadonlyMap<ToolCall, CallEntry> {
    const made = new Map<ToolCall, CallEntry>()
    const coming: ToolCall[] = []
    for (const call of calls) {
      const entry = this.find(call, coming)
      if (entry) made.set(call, entry)
      else coming.push(call)
    }
    return made
  }

  /**
   * The entry of a call that is made already. One of an earlier attempt goes on as this call; one that has turned out to ask for
   * something else is discarded. `coming`: what is made before it.
   */
  find(call: ToolCall, coming: readonly ToolCall[] = []): CallEntry | undefined {
    const { askers, ledger, gate, needs } = this.#parts
    const same = ledger.get(call.id)
    if (same?.rest) needs.complete(same, same.rest, call)
    if (same && !same.discarded) {
      if (sameCall(same.call, call)) return same
      if (same.asked) gate.discard(same, 'arguments_changed')
    }
    const asker = askers.of(call.id)
    const held = asker && this.#held(call, asker, coming)
    if (!held) return undefined
    gate.rename(held, call.id)
    held.askers.push(asker)
    // Which tells the queue, too, that it is asked for again.
    held.slots.moveBack(held)
    const asking = asker.span?.spanContext()
    if (asking) for (const { open } of held.executions) link(open.span, asking)
    return held
  }

  #held(call: ToolCall, asker: Asker, coming: readonly ToolCall[]): CallEntry | undefined {
    const { run, ledger } = this.#parts
    const { steps, setup } = run
    const held = ledger.held(call, steps.begun, asker)
    if (held.length === 0) return undefined
    const unmade = coming.map(({ name }) => ({ tool: findTool(setup.tools, name) }))
    return held.find((one) => !isStale(one, [...ledger.since(one, asker), ...unmade], setup.toolConcurrency === 1))
  }
}
