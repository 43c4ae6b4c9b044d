import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { abortable, after, Host, told } from '../../test/host.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('after a provider has changed arguments, closed calls wait for their seals for the rest of the host’s run (R9, H35)', async () => {
  const host = new Host()
  const changed = async (run = host.run) => {
    const calls = host.loop.step(run, { tools: host.tools })
    if (!calls) throw new Error('none')
    const label = told(calls, 'a', 'look', { n: 1 })
    await after(10)
    calls.seal(label, '{"n":2}')
    calls.stood()
    calls.take('a', 'look', { n: 2 })
    await calls.release()
  }
  await changed()
  expect([host.log, host.warnings]).toEqual([['0 look 1'], ['breaker']])
  await changed()
  expect(host.log).toEqual(['0 look 1'])
  await changed(host.loop.run())
  expect(host.log).toEqual(['0 look 1', '20 look 1'])
})

test('the budget of one eager() counts over its steps and runs (R9, H36)', async () => {
  const host = new Host({ budget: { toleranceMs: 50 } })
  for (let n = 0; n < 3; n++) {
    const calls = host.loop.step(host.loop.run(), { tools: host.tools })
    if (!calls) throw new Error('none')
    told(calls, 'a', 'look', { n, ms: 1_000 })
    await after(40)
    calls.failed()
    await calls.release()
  }
  // 40 ms, then 80 ms were wasted.
  expect(host.log.filter((line) => !line.endsWith('aborted'))).toEqual(['0 look 0', '40 look 1'])
})

test('a read of a failed response counts as waste, also if the host then aborts everything (R9, H36)', async () => {
  const host = new Host({ budget: { toleranceMs: 5 } })
  for (const _ of [1, 2]) {
    const controller = new AbortController()
    const calls = host.step({ signal: controller.signal })
    told(calls, 'a', 'look', { n: 1, ms: 10 })
    await after(10)
    calls.failed()
    controller.abort()
  }
  expect(host.log).toEqual(['0 look 1'])
})

test('three steps in a row with unused early calls switch it off, with one warning (R10)', async () => {
  const host = new Host()
  const step = async (asks: boolean) => {
    const calls = host.loop.step(host.run, { tools: host.tools })
    if (!calls) return 'off'
    told(calls, 'a', 'look', { n: 1 })
    await after(10)
    calls.stood()
    if (asks) calls.take('a', 'look', { n: 1 })
    await calls.release()
    return 'early'
  }
  const steps: string[] = []
  for (const asks of [false, false, true, false, false, false, false, false]) steps.push(await step(asks))
  expect(steps).toEqual(['early', 'early', 'early', 'early', 'early', 'early', 'off', 'off'])
  expect(host.warnings).toEqual(['switched-off'])
})

test('steps that fail, are aborted, or have no early call do not count (R10)', async () => {
  const host = new Host()
  for (let n = 0; n < 5; n++) {
    const { signal, abort } = abortable()
    const [failing, aborted, plain] = [host.step(), host.step({ signal }), host.step()]
    for (const calls of [failing, aborted]) told(calls, 'a', 'look', { n: 1 })
    told(plain, 'a', 'send', { n: 1 })
    await after(10)
    failing.failed()
    aborted.stood()
    plain.stood()
    abort()
    for (const calls of [failing, aborted, plain]) await calls.release()
  }
  expect([host.loop.isOff, host.warnings]).toEqual([false, []])
})
