/** The shared part of both rules of others: a started call is not taken back, and its result is found by the call's id. */

import type { Middleware, Run, ToolCall, ToolFlow, ToolMessage } from '@meanwhile/core'

/** The starts of one run. */
export class Adopting {
  readonly #started = new Map<string, Promise<ToolMessage>>()

  /** Starts a call, finally: it passes the guards around every call, but nothing discards it if its response is not accepted. */
  start(call: ToolCall, run: Run): void {
    if (this.#started.has(call.id)) return
    // With an id that no response uses, so that core's own gate and ledger ignore it.
    const early = run.callTool({ ...call, id: PREFIX + call.id })
    early.catch(() => undefined)
    this.#started.set(call.id, early)
  }

  /** The loop's call gets the result of the call that started with its id, whatever input that one had. */
  readonly wrapToolCall: NonNullable<Middleware['wrapToolCall']> = (call, next) => this.#adopted(call, next)

  async *#adopted(call: ToolCall, next: (call: ToolCall) => ToolFlow): ToolFlow {
    const early = this.#started.get(call.id)
    return early ? await early : yield* next(call)
  }
}

const PREFIX = 'early-'
