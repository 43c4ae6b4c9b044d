/** How long a step waits for a host that leaves without a word. One timer, however much is heard. */

import { unref } from './unref.ts'

/** Milliseconds, unless a user says otherwise. */
const HOLD = 30_000
/** Beyond so many milliseconds a timer fires at once. */
const LONGEST = 2 ** 31 - 1

export class Hold {
  readonly #ms: number
  readonly #over: () => void
  #heard = performance.now()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `over` is called `ms` after the last thing that was heard, unless it has ended by then. */
  constructor(ms: number | undefined, over: () => void) {
    this.#ms = ms ?? HOLD
    this.#over = over
  }

  /** Something of the host is heard. Returns when, in `performance.now()`. */
  heard(): number {
    this.#heard = performance.now()
    return this.#heard
  }

  /** There is something to wait for. */
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
      else this.#over()
    }, ms)
    unref(this.#timer)
  }
}
