import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { abortable, after, Host, told } from '../../test/host.ts'
import { nextStep } from './host-calls.ts'
import type { HostTool } from './host-tool.ts'
import type { EagerSettings } from './settings.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

test('after a provider has changed arguments, closed calls wait for their seals for the rest of the host’s run (R9, H35)', async () => {
  const host = new Host()
  const changed = async (run = host.run) => {
    const calls = nextStep(host.loop, run, { tools: host.tools })
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
    const calls = nextStep(host.loop, host.loop.run(), { tools: host.tools })
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

/** A step in which a call of each of these tools starts early, and what the host then asks for. */
async function used(
  host: Host,
  names: readonly string[],
  asks: Readonly<Record<string, object>>,
  tools: readonly HostTool[] = host.tools,
): Promise<string> {
  const calls = nextStep(host.loop, host.run, { tools })
  if (!calls) return 'off'
  const began = host.started.length
  for (const [index, name] of names.entries()) {
    const label = told(calls, `${index}`, name, { n: 1 })
    calls.seal(label)
  }
  await after(10)
  calls.stood()
  for (const [name, input] of Object.entries(asks)) calls.take(`${names.indexOf(name)}`, name, input)
  await calls.release()
  return `${host.started.length - began} early`
}

test('three steps in a row with unused early calls switch a tool off, with one warning (R10)', async () => {
  const host = new Host()
  const steps: string[] = []
  for (const asks of [false, false, true, false, false, false, false, false])
    steps.push(await used(host, ['look'], asks ? { look: { n: 1 } } : {}))
  expect(steps).toEqual([...Array(6).fill('1 early'), '0 early', '0 early'])
  expect(host.warnings).toEqual(['switched-off'])
})

test('a tool whose early calls are never used is switched off, and no other one; the warning names it and the cause (W48)', async () => {
  const said: string[] = []
  const settings: EagerSettings = {
    independent: ['put'],
    onWarning: ({ code, message }) => void said.push(`${code}: ${message}`),
  }
  const host = new Host(settings)
  const steps: string[] = []
  const tools = host.tools.map(({ name, early }) => ({
    name,
    ...(early && { early: { ...early, checksItself: true as const } }),
  }))
  for (let step = 0; step < 5; step++) steps.push(await used(host, ['look', 'put'], { put: { n: 1 } }, tools))
  for (let step = 0; step < 5; step++) steps.push(await used(host, ['put'], { put: { n: 2 } }, tools))
  expect(steps).toEqual([
    '2 early',
    '2 early',
    '2 early',
    '1 early',
    '1 early',
    '1 early',
    '1 early',
    '1 early',
    '0 early',
    '0 early',
  ])
  expect(said).toEqual([
    'switched-off: look does not start early any more: in 3 steps in a row none of its calls that had started early was used',
    'switched-off: put does not start early any more: in 3 steps in a row it was executed with other arguments than the model had written',
  ])
})

test('a step in which the host uses a call of one tool shows that its version is right, when it switches another tool off (W48)', async () => {
  const said: string[] = []
  const host = new Host({ independent: ['put'], onWarning: ({ message }) => void said.push(message) })
  for (const asks of [{}, {}, { put: { n: 1 } }]) await used(host, ['look', 'put'], asks)
  expect(said).toEqual([
    'look does not start early any more: in 3 steps in a row none of its calls that had started early was used',
  ])
})

test('once all tools of a step are switched off, nothing watches it (R10)', async () => {
  const host = new Host()
  const tools = [host.early('look', 'read'), { name: 'send' }]
  for (let step = 0; step < 3; step++) await used(host, ['look'], {}, tools)
  expect(nextStep(host.loop, host.run, { tools })).toBe(undefined)
})

test('an early call that a step used which began before its tool was switched off changes nothing (R10)', async () => {
  const host = new Host()
  const tools = [host.early('look', 'read')]
  const calls = host.step({ tools })
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  for (let step = 0; step < 3; step++) await used(host, ['look'], {}, tools)
  calls.stood()
  expect(calls.take('a', 'look', { n: 1 })).toBeDefined()
  await calls.release()
  expect(nextStep(host.loop, host.run, { tools })).toBe(undefined)
})

test('if the causes differ in the three steps, the warning names what they have in common (W48)', async () => {
  const said: string[] = []
  const host = new Host({ onWarning: ({ message }) => void said.push(message) })
  const tools = [{ name: 'look', early: { ...host.early('look', 'read').early, checksItself: true } }] as HostTool[]
  for (const asks of [{}, { look: { n: 2 } }, { look: { n: 2 } }]) await used(host, ['look'], asks, tools)
  expect(said).toEqual([
    'look does not start early any more: in 3 steps in a row none of its calls that had started early was used',
  ])
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
  expect([host.loop.isBarred('look'), host.warnings]).toEqual([false, []])
})
