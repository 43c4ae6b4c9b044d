import { beforeEach, expect, test, vi } from 'vitest'
import { DELTAS, ran, reading } from '../test/prefix-runs.ts'
import type { Moment } from '../test/telling-model.ts'
import { workshop } from '../test/workshop.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('it waits for earlier calls that may write, and does not start in the last step, like any early call (H31, H14, H5)', async () => {
  const { tools } = workshop()
  const behind: Moment[] = [
    [0, (to) => to.call(1, { id: 'w', name: 'send', delta: '{"n":1}' })],
    [0, (to) => to.seal(1)],
    ...reading(DELTAS),
  ]
  expect((await ran({ responses: [behind], tools })).log).toEqual(['500 open a.txt', '500 read a.txt 7'])
  expect((await ran({ maxSteps: 1 })).log).toEqual([])
})

test('with one slot it keeps its place, and waiting for the rest causes no deadlock (H31, A22)', async () => {
  const two: Moment[] = [
    ...reading(DELTAS).slice(0, -1),
    [400, (to) => to.call(1, { id: 'c2', name: 'read', delta: '{"path":"b.txt","from"' })],
    [500, (to) => to.call(1, { delta: ':8}' })],
    [600, (to) => to.finish('tool-calls')],
  ]
  const { log } = await ran({ responses: [two], toolConcurrency: 1, ms: 400 })
  expect(log).toEqual(['200 open a.txt', '600 read a.txt 7', '600 open b.txt', '1000 read b.txt 8'])
})

test('two equal calls of one response run twice, each with its own rest (H31, H11)', async () => {
  const twice: Moment[] = [
    ...reading(DELTAS).slice(0, -1),
    ...DELTAS.map((delta, index): Moment => [500 + index * 100, (to) => to.call(1, { id: 'c2', name: 'read', delta })]),
    [900, (to) => to.finish('tool-calls')],
  ]
  const { log, results } = await ran({ responses: [twice] })
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7', '600 open a.txt', '800 read a.txt 7'])
  expect(results).toHaveLength(2)
})
