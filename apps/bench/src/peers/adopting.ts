/** What both rules of others have in common: a call that has started is not taken back, and its result is taken by the call's id. */

import type { Middleware, Run, ToolCall, ToolFlow, ToolMessage } from '@meanwhile/core'

/** Starts of one run. */
export class Adopting {
  readonly #started = new Map<string, Promise<ToolMessage>>()

  /** Starts a call, for good: it goes through the guards round every call, but nothing lets go of it if its response does not stand. */
  start(call: ToolCall, run: Run): void {
    if (this.#started.has(call.id)) return
    // Under an id that no response asks for, so that core's own gate and ledger have no part in it.
    const early = run.callTool({ ...call, id: PREFIX + call.id })
    early.catch(() => undefined)
    this.#started.set(call.id, early)
  }

  /** The loop's call takes the result of the one that started under its id, whatever that one was given. */
  readonly wrapToolCall: NonNullable<Middleware['wrapToolCall']> = (call, next) => this.#adopted(call, next)

  async *#adopted(call: ToolCall, next: (call: ToolCall) => ToolFlow): ToolFlow {
    const early = this.#started.get(call.id)
    return early ? await early : yield* next(call)
  }
}

const PREFIX = 'early-'
