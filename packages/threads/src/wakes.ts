/** Wakes code that waits for a change in a thread. Changes by other processes wake nothing here, so a wait also ends after a short time. */

/** A waiting reader queries the store again after this many milliseconds. */
const LOOK_AGAIN = 200

export class Wakes {
  readonly #waiting = new Map<string, Set<() => void>>()

  wake(thread: string): void {
    for (const wake of this.#waiting.get(thread) ?? []) wake()
  }

  /**
   * Listens from now on. `next` resolves when the thread has changed since this call, or after a short time; it rejects with the signal's reason.
   * Always call `close`.
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
        timer = setTimeout(wake, LOOK_AGAIN)
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
