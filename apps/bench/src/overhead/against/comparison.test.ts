import { expect, test } from 'vitest'
import { comparisonOf, type Round } from './comparison.ts'

const round = (older: number, again: number, present: number): Round => ({ older, again, present })

test('ratios are made within a round: a round in which the machine is slow changes none', () => {
  const start = [round(100, 100, 80), round(900, 900, 720), round(100, 100, 80)]
  expect(comparisonOf([start])).toEqual({
    older: 100,
    present: 80,
    self: { median: 1, low: 1, high: 1 },
    ratio: { median: 0.8, low: 0.8, high: 0.8 },
    spread: 0,
    limit: 1.05,
    isMet: true,
  })
})

test('of each start the median counts, and of the starts the median, so that neither one bad round nor one bad start decides', () => {
  const usual = [round(100, 100, 90), round(100, 100, 500), round(100, 100, 90)]
  const bad = [round(100, 100, 300), round(100, 100, 300), round(100, 100, 300)]
  expect(comparisonOf([usual, bad, usual, usual])).toMatchObject({ ratio: { median: 0.9 }, isMet: true })
})

test('the spread is how far half of the starts of the older core are from itself, to the farther side', () => {
  const starts = [0.7, 0.9, 0.98, 1, 1.01, 1.02, 1.5].map((again) => [round(1, again, 1)])
  expect(comparisonOf(starts)).toMatchObject({ self: { median: 1, low: 0.9, high: 1.02 }, spread: expect.closeTo(0.1) })
  const slower = [1.02, 1.03, 1.04].map((again) => [round(1, again, 1)])
  expect(comparisonOf(slower).spread).toBeCloseTo(0.04)
})

test('a ratio may be 1.05 and the spread, and not more', () => {
  const withRatio = (present: number, again = 1) => comparisonOf([[round(1_000, again * 1_000, present * 1_000)]])
  expect(withRatio(1.05)).toMatchObject({ limit: 1.05, isMet: true })
  expect(withRatio(1.051)).toMatchObject({ isMet: false })
  expect(withRatio(1.07, 1.03)).toMatchObject({ limit: expect.closeTo(1.08), isMet: true })
  expect(withRatio(1.09, 0.97)).toMatchObject({ limit: expect.closeTo(1.08), isMet: false })
})

test('without a round nothing is met', () => {
  expect(comparisonOf([])).toMatchObject({ isMet: false })
})
