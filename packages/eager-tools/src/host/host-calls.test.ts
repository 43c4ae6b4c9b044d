import { getEventListeners } from 'node:events'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { asked, Host, told } from '../../test/host.ts'
import type { StepSavings } from '../savings.ts'
import type { HostTool } from './host-tool.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const after = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('a read starts when its arguments have closed, and the host gets its result (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  await after(10)
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(90)
  calls.stood()
  const result = asked(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  await calls.release()
  expect(await result).toBe('look 1')
  expect(host.log).toEqual(['10 look 1'])
})

test('each call is joined once, and two equal calls are two (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  for (const id of ['a', 'b']) told(calls, id, 'look', { n: 1 })
  await after(10)
  calls.stood()
  const input = { n: 1 }
  expect([await asked(calls, 'a', 'look', input), await asked(calls, 'b', 'look', input)]).toEqual(['look 1', 'look 1'])
  expect(await asked(calls, 'a', 'look', input)).toBe('by the host')
  expect(host.log).toEqual(['0 look 1', '0 look 1'])
})

test('if an id occurs twice in a response, each call joins the early call with its own input (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1 })
  told(calls, 'a', 'look', { n: 2 })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 2 })).toBe('look 2')
  expect(await asked(calls, 'a', 'look', { n: 1 })).toBe('look 1')
  expect(host.log).toEqual(['0 look 1', '0 look 2'])
})

test('a call without an id is joined by its input (R2)', async () => {
  const host = new Host()
  const calls = host.step()
  told(calls, undefined, 'look', { n: 1 })
  await after(10)
  calls.stood()
  expect(await asked(calls, undefined, 'look', { n: 1 })).toBe('look 1')
})

test('a call starts when the provider has sealed it if its effect allows that; the host makes all others (R1, H2)', async () => {
  const host = new Host({ independent: ['put', 'move'] })
  const calls = host.step()
  for (const name of ['look', 'put', 'move', 'send']) {
    const label = told(calls, name, name, { n: 1, ms: 50 })
    await after(10)
    calls.seal(label, '{"n":1,"ms":50}')
    await after(10)
  }
  calls.stood()
  const results = ['look', 'put', 'move', 'send'].map((name) => asked(calls, name, name, { n: 1, ms: 50 }))
  await after(50)
  await calls.release()
  expect(host.log).toEqual(['0 look 1', '30 put 1', '50 move 1'])
  expect(await Promise.all(results)).toEqual(['look 1', 'put 1', 'move 1', 'by the host'])
})

test('an undeclared tool is a barrier, unless it is listed as independent (R1, H14)', async () => {
  for (const independent of [[], ['send']]) {
    const host = new Host({ independent })
    const calls = host.step()
    told(calls, 'a', 'send', { n: 1 })
    told(calls, 'b', 'look', { n: 2 })
    await after(10)
    calls.stood()
    expect(await asked(calls, 'b', 'look', { n: 2 })).toBe(independent.length > 0 ? 'look 2' : 'by the host')
    await calls.release()
  }
})

test('nothing starts once the response is accepted: neither calls sealed then nor calls waiting for a slot (R5)', async () => {
  const host = new Host({ toolConcurrency: 1 })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2 })
  told(calls, 'c', 'put', { n: 3 })
  await after(10)
  calls.stood()
  await after(200)
  expect(host.log).toEqual(['0 look 1'])
  expect(await asked(calls, 'b', 'look', { n: 2 })).toBe('by the host')
  expect(await asked(calls, 'c', 'put', { n: 3 })).toBe('by the host')
})

test('slots and keys let calls begin in call order, each as soon as possible (R2, H14)', async () => {
  const host = new Host({ toolConcurrency: 2 })
  const keyed = host.early('edit', 'read', { writes: ({ n }) => [`file:${n % 2}`] })
  const calls = host.step({ tools: [keyed] })
  for (const n of [1, 3, 2, 4]) calls.seal(told(calls, `${n}`, 'edit', { n, ms: 100 }))
  await after(400)
  calls.stood()
  expect(host.log).toEqual(['0 edit 1', '0 edit 2', '100 edit 3', '100 edit 4'])
})

test('a call with changed arguments is not joined: the host makes it, and the early one is aborted (R3, H8)', async () => {
  const host = new Host()
  const calls = host.step()
  const label = told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.seal(label, '{"n":2,"ms":100}')
  calls.stood()
  await after(10)
  expect(await asked(calls, 'a', 'look', { n: 2, ms: 100 })).toBe('by the host')
  expect(host.log).toEqual(['0 look 1', '20 look 1 aborted'])
})

test('arguments that the provider repeats count when the response has ended, and start nothing (R3, R5)', async () => {
  const host = new Host()
  const calls = host.step()
  const [put, look] = [told(calls, 'a', 'look', { n: 1 }), told(calls, 'b', 'put', { n: 2 })]
  await after(10)
  calls.restate(put, '{"n":3}')
  calls.restate(look, '{"n":2}')
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 3 })).toBe('by the host')
  expect([host.log, host.warnings]).toEqual([['0 look 1'], ['breaker']])
})

test('if arguments change while the response is streaming, the call starts again with the new ones (R3, H8)', async () => {
  const host = new Host()
  const calls = host.step()
  const label = told(calls, 'a', 'look', { n: 1, ms: 100 })
  await after(10)
  calls.seal(label, '{"n":2,"ms":100}')
  await after(100)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 2, ms: 100 })).toBe('look 2')
  expect(host.log).toEqual(['0 look 1', '10 look 1 aborted', '10 look 2'])
})

test('white space and the order of keys are not a change; a call whose function has changed its input is the same call (R2)', async () => {
  const host = new Host()
  const seen: unknown[] = []
  const changing: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      start(input) {
        seen.push(structuredClone(input))
        Object.assign(Object(input), { n: 99, list: [] })
        return 'ok'
      },
    },
  }
  const calls = host.step({ tools: [changing] })
  const label = calls.begin('a', 'look')
  calls.delta(label, '{ "ms": 5,  "list": [1, {"b": 2}], "n": 1 }')
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 1, ms: 5, list: [1, { b: 2 }] })).toBe('ok')
  expect(seen).toHaveLength(1)
})

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

test('calls that the host does not use are aborted on release, and undone if possible (R7)', async () => {
  const host = new Host({ independent: ['move'] })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  for (const [n, ms] of [
    [2, 5],
    [3, 100],
  ] as const)
    calls.seal(told(calls, `${n}`, 'move', { n, ms }))
  await after(10)
  calls.stood()
  await calls.release()
  expect(host.log).toEqual([
    '0 look 1',
    '0 move 2',
    '0 move 3',
    '10 look 1 aborted',
    '10 move 3 aborted',
    '10 move 2 undone',
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a call that has returned the text of an error is joined, and not undone (R7, R12)', async () => {
  const outcomes: unknown[] = []
  const host = new Host({ onStep: ({ calls }) => outcomes.push(...calls.map(({ outcome }) => outcome)) })
  const move: HostTool = {
    name: 'move',
    early: {
      effect: 'reversible',
      compensate: () => host.note('undone'),
      start(_, { failed }) {
        failed(new Error('no way'))
        return 'sorry'
      },
    },
  }
  for (const isAsked of [true, false]) {
    const calls = host.step({ tools: [move] })
    calls.seal(told(calls, 'a', 'move', { n: 1 }))
    await after(10)
    calls.stood()
    if (isAsked) expect(await asked(calls, 'a', 'move', { n: 1 })).toBe('sorry')
    await calls.release()
  }
  expect(host.log).toEqual([])
  expect(outcomes).toEqual(['failed', 'discarded'])
})

test('an undo that fails is a warning (R7)', async () => {
  const host = new Host()
  const compensate = () => {
    throw new Error('no way back')
  }
  const calls = host.step({ tools: [host.early('move', 'reversible', { compensate })] })
  calls.seal(told(calls, 'a', 'move', { n: 1 }))
  await after(10)
  calls.stood()
  await calls.release()
  expect(host.warnings).toEqual(['compensation-failed'])
})

test('if the host never releases a step, its calls are kept for `hold`, counted from the last event (R7)', async () => {
  for (const isStood of [false, true]) {
    const host = new Host({ hold: 1_000 })
    const calls = host.step()
    told(calls, 'a', 'look', { n: 1, ms: 60_000 })
    await after(500)
    calls.begin('b', 'send')
    if (isStood) calls.stood()
    await after(999)
    expect(host.log).toEqual(['0 look 1'])
    await after(1)
    expect(host.log).toEqual(['0 look 1', '1500 look 1 aborted'])
    expect([calls.stage, vi.getTimerCount()]).toEqual(['over', 0])
  }
})

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

test('a call is undone once, in whatever order it settles and is discarded (R7)', async () => {
  const undone: number[] = []
  for (let turns = 0; turns < 40; turns++) {
    const host = new Host()
    const compensate = () => void undone.push(turns)
    const move: HostTool = { name: 'move', early: { effect: 'reversible', compensate, start: () => 'moved' } }
    const calls = host.step({ tools: [move] })
    calls.seal(told(calls, 'a', 'move', { n: 1 }))
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    await calls.release()
  }
  expect(undone).toEqual([...new Set(undone)])
  expect(undone).toContain(39)
})

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

test('a call that declines is not joined, and the host makes the call (R3)', async () => {
  const host = new Host()
  const tool: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      start: (_, { decline }) => {
        decline()
        throw new Error('there is no state')
      },
    },
  }
  const calls = host.step({ tools: [tool] })
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  calls.stood()
  expect(await asked(calls, 'a', 'look', { n: 1 })).toBe('by the host')
})

test('a call may decline after it was joined: the host is notified (R3)', async () => {
  const host = new Host()
  const tool: HostTool = {
    name: 'look',
    early: {
      effect: 'read',
      async start(_, { decline }) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        decline()
        return 'half'
      },
    },
  }
  const calls = host.step({ tools: [tool] })
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  calls.stood()
  const taken = calls.take('a', 'look', { n: 1 })
  expect(taken?.isDeclined).toBe(false)
  await after(90)
  expect([await taken?.result, taken?.isDeclined]).toEqual(['half', true])
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

test('input that the host’s check rejects starts nothing; an invalid effect counts as external (R6, H4)', async () => {
  const host = new Host()
  const odd = host.early('odd', () => {
    throw new Error('who knows')
  })
  const calls = host.step({ tools: [...host.tools, odd] })
  told(calls, 'a', 'look', { n: 'one' })
  told(calls, 'b', 'odd', { n: 1 })
  calls.seal(told(calls, 'c', 'put', { n: 2 }))
  await after(10)
  calls.stood()
  expect(host.log).toEqual([])
})

test('the policy holds calls back; if it throws or returns another value, there is a warning and the call is held back, too (R6, H4)', async () => {
  const words: readonly unknown[] = ['wait', 'start', 'yes', undefined]
  const heard: string[] = []
  const host = new Host({
    policy({ id, input }, { effect, evidence, model }) {
      heard.push(`${id} ${effect} ${evidence} ${model.id}`)
      const { n } = { n: 0, ...Object(input) }
      if (n === 9) throw new Error('no idea')
      return words[n] as 'wait' | undefined
    },
  })
  const calls = host.step({ model: { provider: 'mock', id: 'm' } })
  for (const n of [0, 1, 2, 3, 9]) told(calls, `${n}`, 'look', { n })
  await after(10)
  expect(host.log).toEqual(['0 look 1', '0 look 3'])
  expect(host.warnings).toEqual(['policy-failed', 'policy-failed'])
  expect(heard.slice(0, 1)).toEqual(['0 read closed m'])
})

test('no external call starts early, whatever the policy returns (R1)', async () => {
  const host = new Host({ policy: () => 'start' as 'wait' })
  const calls = host.step({ tools: [host.early('mail', ({ n }) => (n > 1 ? 'external' : 'read'))] })
  for (const n of [1, 2]) calls.seal(told(calls, `${n}`, 'mail', { n }))
  await after(10)
  expect(host.log).toEqual(['0 mail 1'])
})

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

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

test('each early call has one execute_tool span, and there is no other span (R8, H28)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider, captureContent: true } })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 20 })
  told(calls, 'b', 'look', { n: 2, fails: true })
  told(calls, 'c', 'look', { n: 3, ms: 100 })
  told(calls, 'd', 'send', { n: 4 })
  await after(50)
  calls.stood()
  const results = ['a', 'b', 'd'].map((id, n) =>
    asked(calls, id, id === 'd' ? 'send' : 'look', [{ n: 1, ms: 20 }, { n: 2, fails: true }, { n: 4 }][n] ?? {}),
  )
  await Promise.all(results)
  await calls.release()
  const spans = exporter.getFinishedSpans().map(({ name, attributes }) => {
    const { 'meanwhile.dispatch.lag': lag, 'meanwhile.dispatch.queued': queued, ...told } = attributes
    return [name, told]
  })
  const of = (id: string, more: object) => [
    'execute_tool look',
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': id,
      'meanwhile.attempt': 1,
      'meanwhile.step.index': 1,
      'meanwhile.dispatch.mode': 'early',
      'meanwhile.dispatch.evidence': 'closed',
      'meanwhile.tool.effect': 'read',
      'meanwhile.head_start': 0.05,
      ...more,
    },
  ]
  expect(spans).toEqual([
    of('a', {
      'gen_ai.tool.call.arguments': '{"n":1,"ms":20}',
      'gen_ai.tool.call.result': '"look 1"',
      'meanwhile.outcome': 'committed',
      'meanwhile.overlap': 0.02,
    }),
    of('b', {
      'gen_ai.tool.call.arguments': '{"n":2,"fails":true}',
      'meanwhile.outcome': 'failed',
      'meanwhile.overlap': 0,
      'error.type': 'Error',
    }),
    of('c', {
      'gen_ai.tool.call.arguments': '{"n":3,"ms":100}',
      'meanwhile.outcome': 'discarded',
      'meanwhile.discard.reason': 'call_withdrawn',
      'meanwhile.overlap': 0.05,
    }),
  ])
})

test('a function that ignores its abort releases its slot after the grace time, and its span shows it (R8)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider } })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 5_000, deaf: true })
  await after(10)
  calls.failed()
  void calls.release()
  await after(1_000)
  const [span] = exporter.getFinishedSpans()
  expect(span?.attributes).toMatchObject({
    'meanwhile.outcome': 'abandoned',
    'meanwhile.settled': false,
    'meanwhile.discard.reason': 'stream_error',
  })
  await after(5_000)
  expect(exporter.getFinishedSpans()).toHaveLength(1)
})

test('without an early call there is no span and no timer (R8)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider } })
  const calls = host.step()
  told(calls, 'a', 'send', { n: 1 })
  await after(10)
  expect(vi.getTimerCount()).toBe(0)
  calls.stood()
  await calls.release()
  expect(exporter.getFinishedSpans()).toEqual([])
})

test('onStep receives the savings of a step, with the host’s own calls counted as one (R13, H34)', async () => {
  const steps: StepSavings[] = []
  const host = new Host({ onStep: (savings) => void steps.push(savings) })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2, ms: 200 })
  told(calls, 'c', 'send', { n: 3 })
  await after(50)
  calls.stood()
  const results = ['a', 'b'].map((id, n) => asked(calls, id, 'look', { n: n + 1, ms: 100 * (n + 1) }))
  // The host takes 30 ms for the third call.
  await after(150)
  await Promise.all(results)
  await calls.release()
  const call = { tool: 'look', certainMs: 0, startedMs: 0, evidence: 'closed', outcome: 'committed' }
  expect(steps).toEqual([
    {
      step: 1,
      streamMs: 50,
      stoodMs: 50,
      actualMs: 200,
      sequentialMs: 500,
      parallelMs: 250,
      savedMs: 50,
      wastedMs: 0,
      calls: [
        { ...call, callId: 'a', durationMs: 100 },
        { ...call, callId: 'b', durationMs: 200 },
      ],
    },
  ])
})

test('an onStep that throws is a warning (R13)', async () => {
  const host = new Host({
    onStep() {
      throw new Error('no')
    },
  })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  await calls.release()
  expect(host.warnings).toEqual(['observer-failed'])
})

function abortable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(new Error('stop')) }
}
