import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makespan, type Place, schedule } from './makespan.ts'

const of = (...ms: number[]) => ms.map((ms) => ({ ms }))

test('without a limit calls take as long as the longest, with one slot as long as all of them (H34)', () => {
  expect(makespan([], 1)).toBe(0)
  expect(makespan(of(3, 1, 2), Number.POSITIVE_INFINITY)).toBe(3)
  expect(makespan(of(3, 1, 2), 1)).toBe(6)
  expect(makespan(of(1, 1, 3), 2)).toBe(4)
})

test('a call that waits for its tool’s limit holds no slot (H34)', () => {
  const at: Place = { limit: 1 }
  expect(makespan([{ ms: 4, at }, { ms: 4, at }, { ms: 8 }], 2)).toBe(8)
  expect(makespan([{ ms: 4, at }, { ms: 4, at }, { ms: 1 }], Number.POSITIVE_INFINITY)).toBe(8)
  // What waits only for a slot comes first.
  expect(makespan([{ ms: 1, at }, { ms: 1, at }, { ms: 2 }, { ms: 2 }], 2)).toBe(3)
})

test('a schedule says when each call starts, in the order of the calls (H34)', () => {
  const at: Place = { limit: 1 }
  expect(schedule(of(3, 1, 2), 2)).toEqual({ starts: [0, 0, 1], end: 3 })
  expect(schedule([{ ms: 4, at }, { ms: 4, at }, { ms: 8 }], 2)).toEqual({ starts: [0, 4, 0], end: 8 })
  expect(schedule([], 1)).toEqual({ starts: [], end: 0 })
})

test('a call that may not start yet holds no slot, and comes after what waits for one by then (H34)', () => {
  expect(schedule([{ ms: 1, after: 5 }, { ms: 2 }], 1)).toEqual({ starts: [5, 0], end: 6 })
  expect(schedule([{ ms: 1, after: 1 }, { ms: 2 }, { ms: 3 }], 1)).toEqual({ starts: [5, 0, 2], end: 6 })
  expect(makespan([{ ms: 2, after: 4 }, { ms: 3 }], Number.POSITIVE_INFINITY)).toBe(6)
})

test('each call takes the slot that becomes free first (H34)', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), fc.integer({ min: 1, max: 4 }), (durations, slots) => {
      const free: number[] = Array.from({ length: slots }, () => 0)
      for (const ms of durations) {
        free.sort((a, b) => a - b)
        free[0] = (free[0] ?? 0) + ms
      }
      expect(makespan(of(...durations), slots)).toBe(Math.max(...free))
    }),
  )
})

test('no slot is idle while a call may start: within the bounds of every schedule (H34)', () => {
  const places: readonly (Place | undefined)[] = [undefined, { limit: 1 }, { limit: 2 }]
  const work = fc.record({ ms: fc.nat({ max: 9 }), at: fc.constantFrom(...places) })
  fc.assert(
    fc.property(fc.array(work), fc.integer({ min: 1, max: 4 }), (works, slots) => {
      const sum = (some: typeof works) => some.reduce((total, { ms }) => total + ms, 0)
      const ofTools = places.map((at) => sum(works.filter((one) => one.at === at)) / (at?.limit ?? slots))
      const least = Math.max(0, ...works.map(({ ms }) => ms), sum(works) / slots, ...ofTools)
      const made = makespan(works, slots)
      expect(made).toBeGreaterThanOrEqual(least)
      expect(made).toBeLessThanOrEqual(sum(works))
    }),
  )
})
