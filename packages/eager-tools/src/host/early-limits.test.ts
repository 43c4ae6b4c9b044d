import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { abortable, after, Host, told } from '../../test/host.ts'
import type { HostTool } from './host-tool.ts'

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

/** One step with early calls of `glance` and `look`. The host uses the first one, and executes `look` with `asks`. */
const twoReads = async (host: Host, asks?: object) => {
  const reads = ['glance', 'look'].map((name) => host.early(name, 'read'))
  const tools = reads.map(
    ({ name, early }): HostTool => (early ? { name, early: { ...early, checksItself: true } } : { name }),
  )
  const calls = host.step({ tools })
  told(calls, 'a', 'glance', { n: 1 })
  told(calls, 'b', 'look', { n: 1 })
  await after(10)
  const early = host.started.splice(0).length
  calls.stood()
  calls.take('a', 'glance', { n: 1 })
  if (asks) calls.take('b', 'look', asks)
  await calls.release()
  return early
}

test('a tool whose early calls are not used in three steps in a row starts early no more; others do (R10, W48)', async () => {
  const host = new Host()
  const steps: number[] = []
  for (const asks of [undefined, undefined, { n: 1 }, undefined, undefined, undefined, undefined])
    steps.push(await twoReads(host, asks))
  expect(steps).toEqual([2, 2, 2, 2, 2, 2, 1])
  expect(host.warnings).toEqual(['switched-off'])
})

test('the warning says what the host did with the calls, and asks for the version only if it has never executed one (W48)', async () => {
  const said: string[] = []
  const onWarning = ({ message }: { readonly message: string }) => void said.push(message)
  const [changes, drops, loses] = [new Host({ onWarning }), new Host({ onWarning }), new Host({ onWarning })]
  for (let n = 0; n < 4; n++) {
    await twoReads(changes, { n: 5 })
    await twoReads(drops)
    const calls = loses.step()
    told(calls, 'a', 'look', { n: 1 })
    await after(10)
    calls.stood()
    await calls.release()
  }
  const off = 'look does not start early any more: in 3 steps in a row'
  const unasked = 'none of its calls that had started early was used'
  expect(said).toEqual([
    `${off} it was executed with other arguments than the model had written`,
    `${off} ${unasked}`,
    `${off} ${unasked}. eager() needs host 1; is another version installed?`,
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
  expect(host.warnings).toEqual([])
})
