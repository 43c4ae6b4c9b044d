/** Runs warm-ups: the preparations of tools for calls whose names are known and whose inputs are not. */

import type { Tool } from '../vocabulary/tool.ts'

/** One warm-up, held by its call. */
export class WarmUp {
  readonly #warmed: Promise<unknown>
  readonly #controller = new AbortController()
  #used = false
  #over = false

  constructor(tool: Tool, callId: string, failed: (error: unknown) => void) {
    const { signal } = this.#controller
    const warm = async () => tool.warm?.({ callId, signal })
    this.#warmed = warm()
      .catch((error) => {
        if (!signal.aborted) failed(error)
        return undefined
      })
      .finally(() => {
        this.#over = true
      })
  }

  /** The result of the warm-up; `undefined` if that failed. Never rejects. The tool owns it from now on. */
  use(): Promise<unknown> {
    this.#used = true
    return this.#warmed
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Called when the call is over: if it has not used the result, the result is dropped. */
  end(): void {
    if (!this.#used || !this.#over) this.abort(new Error('the call has ended'))
  }
}

/** The warm-ups of a run whose calls have not started. */
export class WarmUps {
  /** The ids of all calls of the step that were warmed up. */
  readonly #begun = new Set<string>()
  readonly #waiting: Map<string, WarmUp> = new Map()

  /** The model call of a step begins, with new calls. */
  renew(): void {
    this.#begun.clear()
  }

  /** Begins at most one warm-up per call. `failed` receives what `warm` threw, unless that was caused by the abort. */
  begin(tool: Tool, callId: string, failed: (error: unknown) => void): void {
    if (!tool.warm || this.#begun.has(callId)) return
    this.#begun.add(callId)
    this.#waiting.set(callId, new WarmUp(tool, callId, failed))
  }

  /** Called when the call starts, and takes its warm-up. */
  take(callId: string): WarmUp | undefined {
    const warmUp = this.#waiting.get(callId)
    this.#waiting.delete(callId)
    return warmUp
  }

  /** These calls will never start; by default, all that have not started. */
  drop(why: string, callIds: Iterable<string> = [...this.#waiting.keys()]): void {
    for (const callId of callIds) this.take(callId)?.abort(new Error(why))
  }
}
