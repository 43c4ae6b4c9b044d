/** The clock, which is a fake one in most tests. */

import { vi } from 'vitest'

/** Goes to the next time at which a timer is due, and calls all that are due then. */
export async function nextTime(): Promise<void> {
  await vi.advanceTimersToNextTimerAsync()
  await vi.advanceTimersByTimeAsync(0)
}

/** Does nothing for this many milliseconds, even after an abort. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
