import { call, cut, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { earlyStop, retryModel } from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timedRun, toldOfCalls } from './timed-run.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** 100 ms before the first repeat, 200 before the second. */
const retry = () => retryModel({ random: () => 0 })

const done = respond(say('Done.'))

const both = (...middleware: readonly Middleware[]) => [middleware, middleware.toReversed()]

test('retryModel and eagerTools, in either order: a tool runs once for all attempts that request it (O4, H22, J1, J7)', async () => {
  for (const middleware of both(retry(), eagerTools())) {
    const { log, events, result, took } = await timedRun(
      [
        respond(call('look', { n: 1, ms: 250 }, { id: 'a1' }), call('put', { n: 2 }, { id: 'a2' }), wait(50), fail()),
        respond(call('look', { n: 1, ms: 250 }, { id: 'b1' }), call('put', { n: 2 }, { id: 'b2' }), wait(50), cut()),
        respond(call('look', { n: 1, ms: 250 }, { id: 'c1' }), call('put', { n: 2 }, { id: 'c2' }), wait(50), say('.')),
        done,
      ],
      middleware,
    )
    expect(log).toEqual(['0 look 1', '0 put 2'])
    expect(toldOfCalls(events)).toEqual([
      'tool-start a1',
      'tool-entered a1',
      'tool-start a2',
      'tool-entered a2',
      'tool-settled a2',
      'tool-settled a1',
      'tool-committed c1 started as a1',
      'tool-end c1',
      'tool-committed c2 started as a2',
      'tool-end c2',
    ])
    expect(
      events.flatMap((event) => (event.type === 'attempt-failed' ? [[event.attempt, event.next, event.waitMs]] : [])),
    ).toEqual([
      [1, 'retry', 100],
      [2, 'retry', 200],
    ])
    expect(result?.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual([
      'c1',
      'c2',
    ])
    // Three streams of 50 ms and the waits between them; the tools add no time.
    expect(took).toBe(450)
  }
})

test('when retryModel gives up, early calls are discarded with the cause of its last failure (H18, H21, J11)', async () => {
  const looks = (...endings: readonly ReturnType<typeof fail | typeof cut>[]) =>
    endings.map((ending, n) => respond(call('look', { n, ms: 5_000 }, { id: `c${n}` }), wait(50), ending))
  for (const [responses, cause] of [
    [looks(cut(), cut(), fail()), 'stream_error'],
    [looks(fail(), fail(), cut()), 'stream_truncated'],
  ] as const) {
    for (const middleware of both(retry(), eagerTools())) {
      const { error, events, log, timers } = await timedRun(responses, middleware)
      expect(error).toMatchObject({ name: 'RetriesExhaustedError', attempts: 3 })
      expect(log).toEqual(['0 look 0', '150 look 1', '400 look 2'])
      expect(toldOfCalls(events)).toEqual([
        ...[0, 1, 2].flatMap((n) => [`tool-start c${n}`, `tool-entered c${n}`]),
        ...[0, 1, 2].map((n) => `tool-discarded c${n} ${cause}`),
      ])
      expect(timers).toBe(0)
    }
  }
})

test('an abort while retryModel waits discards the calls of the failed attempt, and makes no further model call (J6, H24)', async () => {
  for (const middleware of both(retry(), eagerTools())) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 80)
    const { error, events, requests, timers, took } = await timedRun(
      [respond(call('look', { n: 1, ms: 5_000 }, { id: 'a1' }), wait(50), fail()), done],
      middleware,
      { signal: controller.signal },
    )
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(toldOfCalls(events)).toEqual(['tool-start a1', 'tool-entered a1', 'tool-discarded a1 run_aborted'])
    expect(requests).toHaveLength(1)
    expect([took, timers]).toEqual([80, 0])
  }
})

test('the accepted attempt is streamed through eagerTools and retryModel without delay (N2, B4)', async () => {
  for (const middleware of both(retry(), eagerTools())) {
    const model = scriptedModel([respond(fail()), respond(say('a'), wait(50), say('b'), wait(50))])
    const run = createAgent({ model, middleware }).stream('Hi')
    const begin = performance.now()
    const heard: [number, string][] = []
    const reading = (async () => {
      for await (const event of run) {
        if ('delta' in event) heard.push([Math.round(performance.now() - begin), event.delta])
      }
    })()
    await vi.runAllTimersAsync()
    await reading
    expect(heard).toEqual([
      [100, 'a'],
      [150, 'b'],
    ])
  }
})

test('earlyStop and eagerTools, in either order: the last ordinary step is eager, the closing one runs nothing (F2, F5, H5)', async () => {
  const closing = respond(say('So: '), call('look', { n: 9 }, { id: 'closing' }), wait(50), say('that.'))
  for (const middleware of both(earlyStop(), eagerTools())) {
    const { log, result, events, requests } = await timedRun(
      [
        respond(call('look', { n: 1 }, { id: 'c1' }), wait(50), say('.')),
        respond(call('look', { n: 2 }, { id: 'c2' }), wait(50), say('.')),
        closing,
      ],
      middleware,
      { maxSteps: 2 },
    )
    expect(log).toEqual(['0 look 1', '50 look 2'])
    expect(requests).toHaveLength(3)
    expect(result).toMatchObject({ text: 'So: that.', stopReason: 'early-stop' })
    expect(JSON.stringify(events)).not.toContain('closing')
  }
})

test('earlyStop and retryModel, in either order: a closing call that fails is repeated like any other (F2, J1, J10)', async () => {
  for (const middleware of both(earlyStop(), retry())) {
    const { result, requests } = await timedRun(
      [respond(call('send', { n: 1 })), respond(say('Well'), fail()), respond(say('At last.'))],
      middleware,
      { maxSteps: 1 },
    )
    expect(result).toMatchObject({ text: 'At last.', stopReason: 'early-stop', steps: 2 })
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'none', 'none'])
  }
})

test('a closing answer without text is not repeated (N17, J2)', async () => {
  for (const middleware of both(earlyStop(), retry())) {
    const { error, requests } = await timedRun(
      [respond(call('send', { n: 1 })), respond(call('send', { n: 2 }))],
      middleware,
      {
        maxSteps: 1,
      },
    )
    expect(error).toMatchObject({ name: 'MaxStepsError', maxSteps: 1 })
    expect(requests).toHaveLength(2)
  }
})

test('with eagerTools a run that ends within maxSteps has the same requests and result with earlyStop and without (F6)', async () => {
  const responses = [respond(call('look', { n: 1 }, { id: 'c1' }), wait(50), say('.')), done]
  const closed = await timedRun(responses, [earlyStop(), eagerTools()], { maxSteps: 2 })
  const open = await timedRun(responses, [eagerTools()], { maxSteps: 2 })
  const plain = ({ requests }: typeof open) => requests.map(({ model: _, signal: __, ...request }) => request)
  expect(plain(closed)).toEqual(plain(open))
  expect(closed.result).toEqual(open.result)
  expect(toldOfCalls(closed.events)).toEqual(toldOfCalls(open.events))
})

const lookOrSend = fc.record({
  name: fc.constantFrom('look', 'put', 'send'),
  n: fc.nat({ max: 2 }),
  ms: fc.constantFrom(0, 40, 300),
})
const response = fc
  .record({
    calls: fc.array(lookOrSend, { maxLength: 3 }),
    ending: fc.constantFrom('well', 'well', 'well', 'fails', 'fails', 'cut', 'length', 'refused'),
  })
  .map(({ calls, ending }) =>
    respond(
      say('Hm.'),
      ...calls.map(({ name, ...input }) => call(name, input)),
      wait(30),
      ...{
        well: [],
        fails: [fail()],
        cut: [cut()],
        length: [end({ finishReason: 'length' })],
        refused: [fail({ status: 400 })],
      }[ending],
    ),
  )

test('in any order of the three, and with any faults, the outcome of the run is the same as without eagerTools (H16)', async () => {
  const orders = fc.shuffledSubarray(['retry', 'eager', 'stop'] as const, { minLength: 3 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(response, { maxLength: 6 }),
      orders,
      fc.integer({ min: 1, max: 3 }),
      async (said, order, maxSteps) => {
        const list = (eager: boolean) =>
          order.flatMap((name) => ({ retry: [retry()], eager: eager ? [eagerTools()] : [], stop: [earlyStop()] })[name])
        const responses = [...said, ...Array.from({ length: 4 }, () => done)]
        const one = await timedRun(responses, list(true), { maxSteps })
        const other = await timedRun(responses, list(false), { maxSteps })
        expect(one.result && { ...one.result, savings: undefined }).toEqual(other.result)
        expect(one.error).toEqual(other.error)
        expect(one.took).toBeLessThanOrEqual(other.took)
        expect([one.timers, other.timers]).toEqual([0, 0])
        const sent = ({ log }: typeof one) =>
          log.filter((line) => line.includes('send')).map((line) => line.replace(/^\d+ /, ''))
        expect(sent(one).sort()).toEqual(sent(other).sort())
      },
    ),
    propertyRuns({ small: 5, middle: 7, whole: 3_000 }),
  )
})
