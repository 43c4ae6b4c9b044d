/** Wakes whoever waits for a change in a thread. Changes by other processes wake nobody here, so whoever waits also looks again after a while. */

/** Milliseconds after which a waiting reader looks at the store again. */
const LOOK_AGAIN = 200

export class Wakes {
  readonly #waiting = new Map<string, Set<() => void>>()

  wake(thread: string): void {
    for (const wake of this.#waiting.get(thread) ?? []) wake()
  }

  /**
   * Listens from now on. `next` resolves when the thread has changed since, or after a while; it rejects with the signal's reason. Call `close`
   * in any case.
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
