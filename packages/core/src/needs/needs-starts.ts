/** Calls that start when the members are there that their tools need, before their whole input is (H31, H32). */

import type { ToolCall } from '../message.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Tool } from '../tool.ts'
import type { CallEntry } from '../tool-call/call-entry.ts'
import type { CallTable } from '../tool-call/call-table.ts'
import type { CommitGate } from '../tool-call/commit-gate.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import { type Given, startsOnNeeds } from './needs.ts'
import { Rest } from './rest.ts'

export class NeedsStarts {
  readonly #run: RunState
  readonly #table: CallTable
  readonly #gate: CommitGate

  constructor(run: RunState, table: CallTable, gate: CommitGate) {
    this.#run = run
    this.#table = table
    this.#gate = gate
  }

  /** What a call with these members would still wait for; nothing if it is not to start so. */
  restOf(call: ToolCall, tool: Tool, attempt: number): Rest | undefined {
    const { config, steps } = this.#run
    if (!startsOnNeeds(tool, config)) return undefined
    const rest = new Rest(tool, freeze(call))
    return this.#table.get(call.id) || this.#mayBeHeld(rest, steps.begun, attempt) ? undefined : rest
  }

  /** Whether a call with these members may turn out to be one that an earlier attempt has made. */
  #mayBeHeld(rest: Rest, step: number, attempt: number): boolean {
    return this.#table.entries().some(({ state, provisional, call }) => {
      const isOther = state.by.length > 0 && !state.by.includes(attempt)
      return provisional && state.step === step && isOther && rest.isStartOf(call)
    })
  }

  /** A call has started so: its whole input, or that there will be none, is told to it. */
  follow(entry: CallEntry, rest: Rest, whole: Promise<ToolCall>): void {
    whole.then(
      (whole) => this.complete(entry, rest, whole),
      () => rest.isOpen && this.#gate.discard(entry, 'stream_error'),
    )
  }

  /** The whole input of a call that has started so: it goes on, or was something else (H32). */
  complete(entry: CallEntry, rest: Rest, call: ToolCall): void {
    if (!rest.isOpen || entry.discarded) return
    if (!rest.isStartOf(call)) {
      this.#gate.discard(entry, 'arguments_changed')
      return
    }
    this.#table.complete(entry, call)
    rest.checked = rest.complete(call).then((stands) => {
      if (!stands) this.#gate.discard(entry, 'arguments_changed')
    })
  }

  /** What `execute` of such a call is given. What a wrap has changed is not that. */
  async givenTo(entry: CallEntry, call: ToolCall): Promise<Given> {
    const { rest } = entry
    const given = rest && call.input === rest.started.input ? await rest.given() : undefined
    if (given) return given
    this.#gate.discard(entry, 'arguments_changed')
    throw new ToolDiscardedError(entry.call.id, 'arguments_changed')
  }
}
