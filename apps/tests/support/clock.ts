/** Work that waits for the fake clock. */

import { vi } from 'vitest'

/** Runs the clock until nothing waits any more, and returns the result of the work. */
export async function played<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}
