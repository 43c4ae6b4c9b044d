/** Measures how long a model is silent between two of its events. */

import type { ModelFlow } from '@meanwhile/core'

type Event = ModelFlow extends AsyncGenerator<infer Event> ? Event : never

/**
 * Calls `expire` when the reader has waited this many milliseconds since the last event with content. It starts with
 * the first event of an attempt and stops when the attempt has failed.
 */
export class IdleClock {
  readonly #limit: number
  readonly #expire: () => void
  #runs = false
  #left: number
  /** When the current wait began, in `performance.now()`. */
  #since: number | undefined
  // One timer that checks again when it fires: setting one for each event would cost more than reading the event.
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limit: number, expire: () => void) {
    this.#limit = this.#left = limit
    this.#expire = expire
  }

  /** The reader waits for the next event, until {@link came} is called. */
  waits(): void {
    if (!this.#runs) return
    this.#since = performance.now()
    this.#timer ??= setTimeout(this.#look, Math.max(0, this.#left))
  }

  came(event: Event): void {
    if (event.type === 'attempt-failed') {
      this.#runs = false
      this.#since = undefined
    } else if (event.type !== 'custom' && !('delta' in event && event.delta === '')) {
      this.#runs = true
      this.#left = this.#limit
    } else if (this.#since !== undefined) this.#left -= performance.now() - this.#since
    this.#since = undefined
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  readonly #look = (): void => {
    this.#timer = undefined
    if (this.#since === undefined) return
    const left = this.#left - (performance.now() - this.#since)
    if (left <= 0) this.#expire()
    else this.#timer = setTimeout(this.#look, Math.ceil(left))
  }
}
