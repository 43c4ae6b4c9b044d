/** Measures how long a response is silent while somebody waits for its next part. */

import type { SilenceLimits } from './options.ts'

/**
 * Calls `expire` with the limit that was exceeded. Until the first output all waits count together, from then on only the
 * present one. Time in which nobody waits does not count.
 */
export class Silence {
  readonly #limits: SilenceLimits
  readonly #expire: (limit: number) => void
  #hasOutput = false
  #left: number
  /** When the present wait began, in `performance.now()`. */
  #since: number | undefined
  // One timer that checks again when it fires: setting one for each part would cost more than reading the part.
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limits: SilenceLimits, expire: (limit: number) => void) {
    this.#limits = limits
    this.#expire = expire
    this.#left = limits.firstOutput
  }

  get #limit(): number {
    return this.#hasOutput ? this.#limits.idle : this.#limits.firstOutput
  }

  /** Somebody waits for the next part, until it {@link came}. */
  waits(): void {
    this.#since = performance.now()
    if (this.#limit !== Number.POSITIVE_INFINITY) this.#timer ??= setTimeout(this.#look, this.#left)
  }

  /** A part has come. */
  came(isOutput: boolean): void {
    if (isOutput && !this.#hasOutput) {
      this.#hasOutput = true
      // It would check too late.
      this.stop()
    }
    if (this.#hasOutput) this.#left = this.#limits.idle
    else if (this.#since !== undefined) this.#left -= performance.now() - this.#since
    this.#since = undefined
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = (): void => {
    this.#timer = undefined
    if (this.#since === undefined) return
    const left = this.#left - (performance.now() - this.#since)
    if (left <= 0) this.#expire(this.#limit)
    else this.#timer = setTimeout(this.#look, Math.ceil(left))
  }
}
