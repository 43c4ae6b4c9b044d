/** What stops the model request of a step: the end of its run, and, while it waits for another attempt, a cancel. */

import type { RunState } from '../run/run.ts'

export class RequestStop {
  readonly #run: RunState
  /** Of the latest request. */
  #controller: AbortController | undefined
  #isBetweenAttempts = false

  constructor(run: RunState) {
    this.#run = run
  }

  /** A signal for the next request, aborted with the run. */
  next(): AbortSignal {
    const { signal } = this.#run
    this.#controller = new AbortController()
    if (signal.aborted) this.#controller.abort(signal.reason)
    return this.#controller.signal
  }

  /** Aborts with the request's signal, and with the run, whoever made that signal. */
  stopOf(signal: AbortSignal): AbortSignal {
    return signal === this.#controller?.signal ? signal : AbortSignal.any([signal, this.#run.signal])
  }

  abort(reason?: unknown): void {
    this.#controller?.abort(reason)
  }

  /** An attempt has failed and another will follow: the wait for it is a safe point for every mode (K7). */
  set isBetweenAttempts(between: boolean) {
    this.#isBetweenAttempts = between
    if (this.#run.cancel.mode) this.cancelled()
  }

  cancelled(): void {
    if (this.#isBetweenAttempts) this.abort(this.#run.cancel.error)
  }
}
