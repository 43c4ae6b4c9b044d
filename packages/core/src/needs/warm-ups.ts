/** Warm-ups: what tools do for calls whose names are known and whose inputs are not (H33). */

import type { Tool } from '../tool.ts'

/** One warm-up, in the hands of the call it is for. */
export class WarmUp {
  readonly #warmed: Promise<unknown>
  readonly #controller = new AbortController()
  #used = false
  #over = false

  /** `failed` is told what `warm` threw, unless that answers the abort. */
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

  /** What it gave; `undefined` if that failed. Never rejects. The tool has it from now on. */
  use(): Promise<unknown> {
    this.#used = true
    return this.#warmed
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** The call is over: what it did not get is let go of. */
  end(): void {
    if (!this.#used || !this.#over) this.abort(new Error('the call is over'))
  }
}

/** The warm-ups of a run whose calls have not started. */
export class WarmUps {
  /** Ids of calls of the step that were warmed up, whatever became of them. */
  readonly #begun = new Set<string>()
  readonly #waiting: Map<string, WarmUp> = new Map()

  /** A step's model call begins, with calls of its own. */
  renew(): void {
    this.#begun.clear()
  }

  /** At most once per call. */
  begin(tool: Tool, callId: string, failed: (error: unknown) => void): void {
    if (!tool.warm || this.#begun.has(callId)) return
    this.#begun.add(callId)
    this.#waiting.set(callId, new WarmUp(tool, callId, failed))
  }

  /** The call starts: its warm-up is its own from now on. */
  take(callId: string): WarmUp | undefined {
    const warmUp = this.#waiting.get(callId)
    this.#waiting.delete(callId)
    return warmUp
  }

  /** These calls will never come; by default, none that has not started. */
  drop(why: string, callIds: Iterable<string> = [...this.#waiting.keys()]): void {
    for (const callId of callIds) this.take(callId)?.abort(new Error(why))
  }
}
