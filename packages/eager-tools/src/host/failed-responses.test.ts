import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { StepSavings } from '../savings.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('after a failed response, the next one joins an equal call with another id, and discards another call (R4, H22)', async () => {
  for (const n of [1, 2]) {
    const host = new Host()
    const calls = host.step()
    told(calls, 'a', 'look', { n: 1, ms: 100 })
    await after(10)
    calls.failed()
    await after(10)
    expect(calls.again()).toBe(true)
    told(calls, 'b', 'look', { n, ms: 100 })
    await after(20)
    calls.stood()
    const result = asked(calls, 'b', 'look', { n, ms: 100 })
    await after(100)
    expect(await result).toBe(`look ${n}`)
    expect(host.log).toEqual(n === 1 ? ['0 look 1'] : ['0 look 1', '20 look 2', '40 look 1 aborted'])
  }
})

test('a call of a failed response is also joined if the next response leaves it no time to start (R4)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.failed()
  calls.again()
  told(calls, 'b', 'look', { n: 1, ms: 100 })
  calls.stood()
  const result = asked(calls, 'b', 'look', { n: 1, ms: 100 })
  await after(100)
  expect(await result).toBe('look 1')
  expect(host.log).toEqual(['0 look 1'])
})

test('a new request after an accepted response is another step: nothing is joined (R4)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.stood()
  expect(calls.again()).toBe(false)
  await after(0)
  expect([calls.stage, await asked(calls, 'a', 'look', { n: 1, ms: 100 })]).toEqual(['over', 'by the host'])
  expect(host.log).toEqual(['0 look 1', '10 look 1 aborted'])
})

test('calls of a failed response are kept only as long as the host’s signal allows a retry (R4, R7, P20)', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const steps: (string | undefined)[] = []
  const onStep = ({ calls }: StepSavings) => steps.push(...calls.map(({ cause }) => cause))
  const host = new Host({ onStep })
  const failing = async (calls: ReturnType<Host['step']>) => {
    calls.seal(told(calls, 'a', 'move', { n: 1 }))
    await after(10)
    calls.failed()
  }
  const asking = host.step({ signal })
  await failing(asking)
  await after(1_000)
  expect(asking.again()).toBe(true)
  asking.stood()
  await asking.release()
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await failing(host.step({ signal }))
  await after(1_000)
  expect(host.log).toEqual(['0 move 1', '1010 move 1 undone', '1010 move 1'])
  controller.abort()
  await after(0)
  await failing(host.step({ signal }))
  expect(host.log).toEqual(['0 move 1', '1010 move 1 undone', '1010 move 1', '2020 move 1 undone'])
  expect(steps).toEqual(['call_withdrawn', 'stream_error'])
  expect([vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([0, []])
})
