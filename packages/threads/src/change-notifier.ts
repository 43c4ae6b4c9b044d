/** Notifies code that waits for a change of a thread. Changes by other processes send no notification, so each wait also ends after a short time. */

/** A wait ends after this many milliseconds, so that its caller reads the store again. */
const POLL_INTERVAL = 200

export class ChangeNotifier {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Ends all waits for changes of this thread. */
  notify(thread: string): void {
    for (const wake of this.#waiting.get(thread) ?? []) wake()
  }

  /**
   * Starts to listen for changes. `next` resolves when the thread has changed since this call, or after 200 ms; it rejects with the reason of the
   * signal if that is aborted. Always call `close`.
   */
  listen(thread: string, signal?: AbortSignal): { next(): Promise<void>; close(): void } {
    let timer: ReturnType<typeof setTimeout> | undefined
    let abort = () => {}
    let wake = () => {}
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    const listeners = this.#waiting.get(thread) ?? new Set()
    this.#waiting.set(thread, listeners)
    listeners.add(wake)
    return {
      async next() {
        signal?.throwIfAborted()
        const aborted = new Promise<void>((_, reject) => {
          abort = () => reject(signal?.reason)
          signal?.addEventListener('abort', abort, { once: true })
        })
        timer = setTimeout(wake, POLL_INTERVAL)
        await Promise.race([woken, aborted])
      },
      close: () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        listeners.delete(wake)
        if (listeners.size === 0) this.#waiting.delete(thread)
      },
    }
  }
}
