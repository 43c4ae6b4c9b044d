import { expect, test } from 'vitest'
import { median, pairedDifferences, percentile, range } from './stats.ts'

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([7])).toBe(7)
  expect(median([])).toBeUndefined()
})

test('the range is the smallest and the largest value', () => {
  expect(range([3, 1, 2])).toEqual([1, 3])
  expect(range([])).toBeUndefined()
})

test('differences are taken round by round, and rounds that one of the two lacks do not count', () => {
  const eager = new Map([
    [0, 1_900],
    [1, 2_000],
    [3, 1_950],
  ])
  const parallel = new Map([
    [0, 2_850],
    [1, 2_870],
    [2, 2_860],
  ])
  expect(pairedDifferences(eager, parallel)).toEqual([950, 870])
})

test('a percentile is one of the values: nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
  expect(percentile(hundred, 0.99)).toBe(99)
  expect(percentile([3, 1, 2], 0.99)).toBe(3)
  expect(percentile([3, 1, 2], 0)).toBe(1)
  expect(percentile([], 0.99)).toBeUndefined()
})
