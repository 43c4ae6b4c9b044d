import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { HostTool } from './host-tool.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('an error is thrown to the host once, and is never an unhandled rejection (R12)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, fails: true })
  told(calls, 'b', 'look', { n: 2, fails: true })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 1, fails: true })).toBe('threw look 1 failed')
  await calls.release()
  expect(host.log).toEqual(['0 look 1', '0 look 2'])
})

test('the values of a generator function are kept from the beginning (R12)', async () => {
  const host = new Host()
  const yielding: HostTool = {
    name: 'pour',
    early: {
      effect: 'read',
      async *start() {
        for (const drop of [1, 2, 3]) {
          yield drop
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      },
    },
  }
  const calls = host.step({ tools: [yielding] })
  told(calls, 'a', 'pour', { n: 1 })
  await after(15)
  calls.stood()
  const result = asked(calls, 'a', 'pour', { n: 1 })
  await after(100)
  expect(await result).toEqual([1, 2, 3])
})

test('values that a generator function yields last, while its reader still has an earlier one, reach the reader (R12)', async () => {
  const host = new Host()
  const yielding: HostTool = {
    name: 'pour',
    early: {
      effect: 'read',
      async *start() {
        yield 1
        await new Promise((resolve) => setTimeout(resolve, 10))
        yield* [2, 3]
      },
    },
  }
  const calls = host.step({ tools: [yielding] })
  told(calls, 'a', 'pour', { n: 1 })
  await after(5)
  calls.stood()
  const result = calls.take('a', 'pour', { n: 1 })?.result
  if (!result || result instanceof Promise) throw new Error('it yields nothing')
  const drops: unknown[] = []
  for await (const drop of result) {
    drops.push(drop)
    await after(20)
  }
  expect(drops).toEqual([1, 2, 3])
})

test('a function that yields without end waits for its reader, and ends when there will be none (R7, R12)', async () => {
  const host = new Host()
  let yielded = 0
  let closed = 0
  const endless: HostTool = {
    name: 'pour',
    early: {
      effect: 'read',
      async *start() {
        try {
          for (;;) yield ++yielded
        } finally {
          closed++
        }
      },
    },
  }
  const calls = host.step({ tools: [endless] })
  told(calls, 'a', 'pour', { n: 1 })
  await after(10)
  expect(yielded).toBe(1_000)
  await calls.release()
  expect([yielded, closed]).toEqual([1_000, 1])
})

test('the function receives the host’s id, the input as the model wrote it, and its text (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  const label = calls.begin('a', 'look')
  calls.delta(label, '{ "n": 1 }')
  await after(10)
  calls.stood()
  expect(host.started.map(({ id, written, text }) => ({ id, written, text }))).toEqual([
    { id: 'a', written: { n: 1 }, text: '{ "n": 1 }' },
  ])
})
