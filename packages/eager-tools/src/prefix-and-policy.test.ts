import { beforeEach, expect, test, vi } from 'vitest'
import { ran } from '../test/prefix-runs.ts'
import type { Policy } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('the policy decides about the needed members, and about the whole before the tool gets it (H31, H3)', async () => {
  const asked: unknown[] = []
  const policy =
    (word: 'prefix' | 'closed' | undefined): Policy =>
    ({ input }, { evidence }) => {
      asked.push([evidence, input])
      return evidence === word || (word === 'closed' && evidence === 'sealed') ? 'wait' : undefined
    }
  const free = await ran({ policy: policy(undefined) })
  expect(free.log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(asked.splice(0)).toEqual([
    ['prefix', { path: 'a.txt' }],
    ['closed', { path: 'a.txt', from: 7 }],
  ])
  expect((await ran({ policy: policy('prefix') })).log).toEqual(['400 open a.txt', '400 read a.txt 7'])
  const held = await ran({ policy: policy('closed') })
  expect(held.log).toEqual(['200 open a.txt', '500 read a.txt 7'])
  expect(held.lines).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('changes that a policy makes to its call have no effect (P15, H3, H31)', async () => {
  const asked: unknown[] = []
  const policy: Policy = (call, { evidence }) => {
    asked.push([evidence, structuredClone(call.input)])
    for (const handed of [call, call.input as object])
      expect(() => Object.assign(handed, { id: 'mine', path: 'mine.txt', input: {} })).toThrow(TypeError)
    return 'start'
  }
  const undisturbed = await ran()
  const { log, results, result } = await ran({ policy })
  expect([log, results, result?.warnings]).toEqual([undisturbed.log, undisturbed.results, []])
  expect(asked).toEqual([
    ['prefix', { path: 'a.txt' }],
    ['closed', { path: 'a.txt', from: 7 }],
  ])
})
