/** Limits how long a step waits for a host that never uses its calls. It uses one timer, however many events arrive. */

import { unref } from './unref.ts'

/** The default, in milliseconds. */
export const HOLD = 30_000
/** A timer with a longer delay would fire at once. */
export const LONGEST: number = 2 ** 31 - 1

export class Hold {
  readonly #ms: number
  readonly #over: () => void
  #isOver = false
  #heard = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Calls `over` when no event has arrived for `ms` milliseconds after a `silence`, unless it has ended by then. */
  constructor(ms: number | undefined, silence: number | undefined, over: () => void) {
    this.#ms = (ms ?? HOLD) + (silence ?? 0)
    this.#over = over
  }

  /** Whether the host has been silent for too long. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** An event of the host has arrived. Before the timer has started, its time does not matter. */
  heard(): void {
    if (this.#timer !== undefined) this.#heard = performance.now()
  }

  /** Starts the timer. */
  begin(): void {
    if (this.#timer === undefined && this.#ms <= LONGEST) this.#wait(this.#ms)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      const left = this.#heard + this.#ms - performance.now()
      if (left > 0) this.#wait(left)
      else {
        this.#isOver = true
        this.#over()
      }
    }, ms)
    unref(this.#timer)
  }
}
