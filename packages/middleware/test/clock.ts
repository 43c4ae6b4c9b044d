/** The fake clock. */

import { vi } from 'vitest'

/** Runs the clock until nothing waits any more, and gives what the work came to. */
export async function played<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}
