/** Fake time for the tests of a file, and a lease time. */

import { afterEach, beforeEach, vi } from 'vitest'

/** The lease time of the threads of these tests, in milliseconds. */
export const LEASE = 1_000

/** In each test of the file, time passes only when the test says so. */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.clearAllTimers()
    vi.useRealTimers()
  })
}
