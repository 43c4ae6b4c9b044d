/** Work that waits for the clock, which is a fake one in most tests. */

import { vi } from 'vitest'

/** Runs the clock until nothing waits any more, and returns the result of the work. */
export async function played<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

/** Waits this long. With a signal it rejects with the reason of the signal as soon as that aborts; without one nothing ends the wait. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    const leave = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', leave, { once: true })
  })
}
