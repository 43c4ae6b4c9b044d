import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { backoff, wait } from './backoff.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const first = (count: number, delay: (repeat: number) => number) =>
  Array.from({ length: count }, (_, index) => delay(index + 1))

test('without jitter the waits double from 100 ms up to 10 s (J4)', () => {
  expect(first(10, backoff({ random: () => 0 }))).toEqual([
    100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000,
  ])
})

test('jitter adds up to half of a wait, also to the longest one (J4)', () => {
  expect(first(3, backoff({ random: () => 0.5 }))).toEqual([125, 250, 500])
  expect(backoff({ random: () => 0.999 })(20)).toBeCloseTo(14_995)
})

test('first wait, longest wait and jitter are the user’s (J4)', () => {
  expect(first(4, backoff({ baseDelay: 10, maxDelay: 50, jitter: 1, random: () => 0.5 }))).toEqual([15, 30, 60, 75])
  expect(first(3, backoff({ jitter: 0, random: () => 0.9 }))).toEqual([100, 200, 400])
})

test('every wait is between its plain length and one and a half times that (J4)', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), (repeat) => {
      const plain = Math.min(100 * 2 ** (repeat - 1), 10_000)
      const ms = backoff({})(repeat)
      expect(ms).toBeGreaterThanOrEqual(plain)
      expect(ms).toBeLessThan(plain * 1.5)
    }),
    { seed: 1 },
  )
})

test('a wait ends on time, and leaves neither timer nor listener (J6)', async () => {
  const { signal } = new AbortController()
  const remove = vi.spyOn(signal, 'removeEventListener')
  let over = false
  const waiting = wait(100, signal).then(() => (over = true))
  await vi.advanceTimersByTimeAsync(99)
  expect(over).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await waiting
  expect(vi.getTimerCount()).toBe(0)
  expect(remove).toHaveBeenCalledTimes(1)
})

test('an abort ends a wait at once, with its reason and without a remaining timer (J6)', async () => {
  const controller = new AbortController()
  const waiting = wait(100, controller.signal)
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  expect(vi.getTimerCount()).toBe(0)
})

test('a wait does not begin if the signal was already aborted (J6)', async () => {
  const reason = new Error('enough')
  await expect(wait(100, AbortSignal.abort(reason))).rejects.toBe(reason)
  expect(vi.getTimerCount()).toBe(0)
})
