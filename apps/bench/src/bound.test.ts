import { expect, test } from 'vitest'
import { boundOf, possibleSaving, streamOf } from './bound.ts'

const first = { arrived: 1_000, end: 2_660 }
const second = { arrived: 2_700, end: 2_900 }

test('a run cannot be shorter than both streams and the tools that reach beyond the first', () => {
  const calls = [
    { argsDone: 1_360, toolMs: 1_000 },
    { argsDone: 2_660, toolMs: 50 },
  ]
  expect(boundOf(first, calls, second)).toBe(1_710 + 200)
})

test('tools that are done before the stream ends add nothing to the bound', () => {
  expect(boundOf(first, [{ argsDone: 1_360, toolMs: 1_000 }], second)).toBe(1_660 + 200)
})

test('without an answer the bound is that of the first response', () => {
  expect(boundOf(first, [])).toBe(1_660)
})

test('the possible saving is what the slowest tool would add after the stream, less what it adds anyway', () => {
  const slow = { argsDone: 1_360, toolMs: 1_000 }
  expect(possibleSaving(first, [slow])).toBe(1_000)
  expect(possibleSaving(first, [slow, { argsDone: 2_660, toolMs: 50 }])).toBe(950)
  expect(possibleSaving(first, [slow, { argsDone: 2_660, toolMs: 1_000 }])).toBe(0)
  expect(possibleSaving(first, [])).toBe(0)
})

test('a response that was not sent to its end has no bound', () => {
  const log = { wire: 'anthropic', request: 2, status: 200, arrived: 5, argsDone: {}, writes: [], lateness: 0 } as const
  expect(() => streamOf({ ...log, argsDone: {}, writes: [], aborted: true })).toThrow(
    'response 2 was not sent to its end',
  )
})
