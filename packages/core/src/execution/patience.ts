/** A signal to stop, and how long whoever has it is waited for (K12). */

import { timer } from '../flow/grace.ts'

export class Patience {
  readonly signal: AbortSignal
  /** Resolves when it was aborted and was not {@link over} within its grace time. */
  readonly lost: Promise<void>
  #isLost = false
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof timer>
  #lose: () => void = () => undefined

  constructor() {
    this.signal = this.#controller.signal
    this.lost = new Promise((resolve) => {
      this.#lose = resolve
    })
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** The first abort counts. `grace`: milliseconds. */
  abort(reason: unknown, grace: number): void {
    if (this.signal.aborted) return
    this.over()
    this.#timer = timer(grace, () => {
      this.#isLost = true
      this.#lose()
    })
    this.#controller.abort(reason)
  }

  /** Calls `abort` in a later turn, unless it is {@link over} by then: whoever learns of the reason in another way learns of it there first. */
  later(abort: () => void): void {
    this.#timer ??= timer(0, abort)
  }

  over(): void {
    clearTimeout(this.#timer)
  }
}
