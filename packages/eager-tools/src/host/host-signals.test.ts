import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { abortable, after, asked, Host, told } from '../../test/host.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('the host’s signal aborts all calls, and no listener remains (R7, P20)', async () => {
  const host = new Host()
  const { signal, abort } = abortable()
  const calls = host.step({ signal })
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2, ms: 100 })
  await after(10)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  calls.stood()
  const result = asked(calls, 'a', 'look', { n: 1, ms: 100 }, signal)
  abort()
  expect(await result).toBe('threw stop')
  await calls.release()
  expect(host.log).toEqual(['0 look 1', '0 look 2', '10 look 1 aborted', '10 look 2 aborted'])
  expect([getEventListeners(signal, 'abort'), vi.getTimerCount()]).toEqual([[], 0])
})

test('nothing starts after the host’s signal has aborted, neither waiting calls nor calls that are still streamed (R12)', async () => {
  const host = new Host({ toolConcurrency: 1 })
  const { signal, abort } = abortable()
  const calls = host.step({ signal })
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2 })
  await after(10)
  abort()
  await after(10)
  told(calls, 'c', 'look', { n: 3 })
  await after(10)
  await calls.release()
  expect(host.log).toEqual(['0 look 1', '10 look 1 aborted'])
})

test('the signal of the host’s own call aborts only the early call that it has joined (R12)', async () => {
  const host = new Host()
  const { signal, abort } = abortable()
  const calls = host.step()
  for (const n of [1, 2]) told(calls, `${n}`, 'look', { n, ms: 100 })
  await after(10)
  calls.stood()
  const results = [asked(calls, '1', 'look', { n: 1, ms: 100 }, signal), asked(calls, '2', 'look', { n: 2, ms: 100 })]
  abort()
  await after(100)
  expect(await Promise.all(results)).toEqual(['threw stop', 'look 2'])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('signals that never abort keep no listener (R7, P20)', async () => {
  const host = new Host()
  const [ofStep, ofCall] = [abortable().signal, abortable().signal]
  const calls = host.step({ signal: ofStep })
  for (const n of [1, 2]) told(calls, `${n}`, 'look', { n, ms: 20 * n })
  await after(10)
  calls.stood()
  const result = asked(calls, '1', 'look', { n: 1, ms: 20 }, ofCall)
  expect([ofStep, ofCall].map((signal) => getEventListeners(signal, 'abort').length)).toEqual([1, 1])
  await after(100)
  await calls.release()
  expect(await result).toBe('look 1')
  expect([ofStep, ofCall].map((signal) => getEventListeners(signal, 'abort').length)).toEqual([0, 0])
})
