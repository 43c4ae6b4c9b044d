import { expect, test } from 'vitest'
import { boundOf, type Due, possibleSaving, streamOf } from './bound.ts'

const first = { arrived: 1_000, end: 2_660 }
const answer = { stream: { arrived: 2_700, end: 2_900 }, calls: [] }
const slow = { argsDone: 1_360, toolMs: 1_000, mayStartEarly: true }

test('a run cannot be shorter than both streams and the tools that reach beyond the first', () => {
  const calls = [
    { argsDone: 1_360, toolMs: 1_000, mayStartEarly: true },
    { argsDone: 2_660, toolMs: 50, mayStartEarly: true },
  ]
  expect(boundOf([{ stream: first, calls }, answer])).toBe(1_710 + 200)
})

test('tools that are done before the stream ends add nothing to the bound', () => {
  expect(boundOf([{ stream: first, calls: [slow] }, answer])).toBe(1_660 + 200)
})

test('a tool that may not start early adds all of its time to the bound, and nothing can be saved of it', () => {
  const turn = { stream: first, calls: [{ ...slow, mayStartEarly: false }] }
  expect(boundOf([turn])).toBe(1_660 + 1_000)
  expect(possibleSaving([turn])).toBe(0)
})

test('without an answer the bound is that of the first response', () => {
  expect(boundOf([{ stream: first, calls: [] }])).toBe(1_660)
})

test('bounds and savings of several turns add up', () => {
  const turn = { stream: first, calls: [slow] }
  expect(boundOf([turn, turn, answer])).toBe(2 * 1_660 + 200)
  expect(possibleSaving([turn, turn, answer])).toBe(2_000)
})

test('the possible saving is what the slowest tool would add after the stream, less what it adds anyway', () => {
  const saving = (...calls: readonly Due[]) => possibleSaving([{ stream: first, calls }])
  expect(saving(slow)).toBe(1_000)
  expect(saving(slow, { argsDone: 2_660, toolMs: 50, mayStartEarly: true })).toBe(950)
  expect(saving(slow, { argsDone: 2_660, toolMs: 1_000, mayStartEarly: true })).toBe(0)
  expect(saving()).toBe(0)
})

test('a response that was not sent completely has no bound', () => {
  const log = { wire: 'anthropic', request: 2, status: 200, arrived: 5, argsDone: {}, writes: [], lateness: 0 } as const
  expect(() => streamOf({ ...log, argsDone: {}, writes: [], aborted: true })).toThrow(
    'response 2 was not sent completely',
  )
})
