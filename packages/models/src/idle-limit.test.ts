import { expect, test, vi } from 'vitest'
import { IdleLimit } from './idle-limit.ts'

test('no timer is set below 0, even if a late event had no content', () => {
  vi.useFakeTimers()
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const now = vi.spyOn(performance, 'now')
  try {
    const idle = new IdleLimit(10, () => undefined)
    now.mockReturnValue(0)
    idle.waits()
    now.mockReturnValue(5)
    idle.came()
    // Its timer is due while nobody waits.
    vi.advanceTimersByTime(10)
    now.mockReturnValue(6)
    idle.waits()
    now.mockReturnValue(11.5)
    idle.came()
    vi.advanceTimersByTime(10)
    idle.waits()
    expect(timers.mock.calls.map(([, delay]) => delay)).toEqual([10, 5, 0])
  } finally {
    vi.restoreAllMocks()
    vi.useRealTimers()
  }
})
