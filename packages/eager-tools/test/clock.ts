/** The fake clock. */

import { vi } from 'vitest'

/** Runs the clock until nothing waits any more, and returns the result of the work. */
export async function played<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

/** How many milliseconds the work took. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const begin = performance.now()
  return await played(work.then(() => Math.round(performance.now() - begin)))
}
