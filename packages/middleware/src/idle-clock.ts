/** Measures how long a model says nothing between two of its events. */

import type { ModelFlow } from '@meanwhile/core'

type Event = ModelFlow extends AsyncGenerator<infer Event> ? Event : never

/**
 * Calls `expire` when so many ms were spent waiting since the last event that said something. It starts with the first event of an
 * attempt and stands still when that has failed.
 */
export class IdleClock {
  readonly #limit: number
  readonly #expire: () => void
  #runs = false
  #left: number
  /** When the wait at work began, in `performance.now()`. */
  #since: number | undefined
  // One that stays, and looks when it is due: setting one for each event would cost more than reading it.
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limit: number, expire: () => void) {
    this.#limit = this.#left = limit
    this.#expire = expire
  }

  /** Somebody waits for the next event, until it {@link came}. */
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
