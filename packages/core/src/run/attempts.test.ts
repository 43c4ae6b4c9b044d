import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { echo } from '../../test/tools.ts'
import {
  type AgentEvent,
  type AssistantMessage,
  createAgent,
  type Middleware,
  type Model,
  ModelError,
  RunAbortedError,
  settle,
  textOf,
} from '../index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

/** Calls the same model up to this many times, and reports failures or does not. */
const retry = (tries: number, { tells = false, waitMs = 0 } = {}): Middleware => ({
  name: 'retry',
  async *wrapModel(request, next) {
    for (let n = 1; ; n++) {
      try {
        return yield* next(request)
      } catch (error) {
        if (n === tries) throw error
        if (tells) yield { type: 'attempt-failed', error, next: 'retry', ...(waitMs > 0 && { waitMs }) }
        if (waitMs > 0) await sleep(waitMs)
      }
    }
  },
})

/** Calls these models next, and reports failures or does not. */
const fallback = (models: readonly Model[], { tells = false } = {}): Middleware => ({
  name: 'fallback',
  async *wrapModel(request, next) {
    const errors: unknown[] = []
    for (const model of [request.model, ...models]) {
      try {
        return yield* next({ ...request, model })
      } catch (error) {
        errors.push(error)
        if (tells && errors.length <= models.length) {
          // Not the error of the attempt, but one that an inner retry might have made from it.
          const summary = new AggregateError(errors)
          yield { type: 'attempt-failed', error: summary, next: 'fallback' }
        }
      }
    }
    throw errors.at(-1)
  },
})

const failing = (code: string) => respond(fail({ code }))

/** What the reader sees of attempts, in short. */
const told = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'step-start') return [`step ${event.step}`]
    if (event.type === 'attempt-start') return [`${event.attempt} start ${event.model.id}`]
    if (event.type === 'attempt-failed') return [`${event.attempt} failed ${codeOf(event.error)} ${event.next}`]
    if (event.type === 'text-delta') return [`${event.attempt} says ${event.delta}`]
    if (event.type === 'step-end') return [`stood ${event.attempt}`]
    return []
  })

const codeOf = (error: unknown) => (error instanceof ModelError ? error.code : error instanceof Error && error.name)

async function ran(model: Model, middleware: readonly Middleware[]) {
  const collecting = collect(createAgent({ model, middleware }).stream('Go'))
  await vi.runAllTimersAsync()
  return collecting
}

test('each attempt begins with attempt-start; a failure that no wrap reported is reported before the next attempt (J7, J8)', async () => {
  const model = scriptedModel([failing('a'), respond(say('half'), fail({ code: 'b' })), respond(say('whole'))])
  const { events, result } = await ran(model, [retry(3)])
  expect(told(events)).toEqual([
    'step 1',
    '1 start scripted-1',
    '1 failed a retry',
    '2 start scripted-1',
    '2 says half',
    '2 failed b retry',
    '3 start scripted-1',
    '3 says whole',
    'stood 3',
  ])
  expect(events.find(({ type }) => type === 'attempt-start')).toEqual({
    type: 'attempt-start',
    runId: events[0]?.runId,
    step: 1,
    attempt: 1,
    model: { provider: 'scripted', id: 'scripted-1' },
  })
  expect(result?.text).toBe('whole')
})

test('attempt-failed contains the error itself, step and attempt, and is JSON (J7, B2)', async () => {
  const { events, error } = await ran(scriptedModel([failing('a')]), [])
  const event = events.find(({ type }) => type === 'attempt-failed')
  expect(event).toEqual({ type: 'attempt-failed', runId: events[0]?.runId, step: 1, attempt: 1, error, next: 'none' })
  expect(JSON.parse(JSON.stringify(event))).toMatchObject({
    attempt: 1,
    next: 'none',
    error: { code: 'a', status: 500 },
  })
})

test('the last failure has next none, when the error leaves the outermost wrap (J7, J8)', async () => {
  const { events, error } = await ran(scriptedModel([failing('a'), failing('b')]), [retry(2)])
  expect(told(events)).toEqual([
    'step 1',
    '1 start scripted-1',
    '1 failed a retry',
    '2 start scripted-1',
    '2 failed b none',
  ])
  expect(error).toMatchObject({ code: 'b' })
})

test('a failure after which a wrap answers itself also has next none (J8, C12)', async () => {
  const { events, result } = await ran(scriptedModel([failing('a')]), [
    {
      name: 'answers',
      async *wrapModel(request, next) {
        try {
          return yield* next(request)
        } catch {
          return answer('sorry')
        }
      },
    },
  ])
  expect(told(events)).toEqual(['step 1', '1 start scripted-1', '1 failed a none', 'stood undefined'])
  expect(result?.text).toBe('sorry')
})

test('a report by a wrap is shown with its attempt, next and wait, and core does not repeat it (J7)', async () => {
  const model = scriptedModel([failing('a'), failing('b'), respond(say('c'))])
  const start = Date.now()
  const seen: (readonly [number, AgentEvent])[] = []
  const run = createAgent({ model, middleware: [retry(3, { tells: true, waitMs: 100 })] }).stream('Go')
  const reading = (async () => {
    for await (const event of run) seen.push([Date.now() - start, event])
  })()
  await vi.runAllTimersAsync()
  await reading
  const failed = seen.filter(([, { type }]) => type.startsWith('attempt-'))
  expect(failed).toMatchObject([
    [0, { type: 'attempt-start', attempt: 1 }],
    [0, { type: 'attempt-failed', attempt: 1, error: { code: 'a' }, next: 'retry', waitMs: 100 }],
    [100, { type: 'attempt-start', attempt: 2 }],
    [100, { type: 'attempt-failed', attempt: 2, error: { code: 'b' }, next: 'retry', waitMs: 100 }],
    [200, { type: 'attempt-start', attempt: 3 }],
  ])
})

test('core replaces a report that an outer wrap withholds from the reader (J7)', async () => {
  const silencing: Middleware = {
    name: 'silencing',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        if (step.value.type !== 'attempt-failed') yield step.value
      }
    },
  }
  const model = scriptedModel([failing('a'), respond(say('b'))])
  const { events } = await ran(model, [silencing, retry(2, { tells: true })])
  expect(told(events).slice(1, 4)).toEqual(['1 start scripted-1', '1 failed a retry', '2 start scripted-1'])
})

test('no attempt is reported twice, however often and whenever wraps report it (J7)', async () => {
  const model = scriptedModel([failing('a'), respond(say('b'))])
  const { events } = await ran(model, [
    {
      name: 'talkative',
      async *wrapModel(request, next) {
        try {
          return yield* next(request)
        } catch (error) {
          yield { type: 'attempt-failed', error, next: 'retry' }
          yield { type: 'attempt-failed', error, next: 'retry' }
          const message = yield* next(request)
          yield { type: 'attempt-failed', error, next: 'retry' }
          return message
        }
      },
    },
  ])
  expect(told(events)).toEqual([
    'step 1',
    '1 start scripted-1',
    '1 failed a retry',
    '2 start scripted-1',
    '2 says b',
    'stood 2',
  ])
})

test('a wrap that has made no attempt has none to report (J7, C12)', async () => {
  const { events } = await ran(scriptedModel([]), [
    {
      name: 'cache',
      async *wrapModel() {
        yield { type: 'attempt-failed', error: new Error('no cache'), next: 'none' }
        return answer('made up')
      },
    },
  ])
  expect(told(events)).toEqual(['step 1', 'stood undefined'])
})

test('an attempt that a wrap does not accept is reported as failed, although its model did not fail (J7, J8)', async () => {
  const model = scriptedModel([respond(say('short')), respond(say('long enough'))])
  const { events, result } = await ran(model, [
    {
      name: 'wants more',
      async *wrapModel(request, next) {
        const message = yield* next(request)
        if (textOf(message).length > 5) return message
        yield { type: 'attempt-failed', error: new RangeError('too short'), next: 'retry' }
        return yield* next(request)
      },
    },
  ])
  expect(told(events)).toEqual([
    'step 1',
    '1 start scripted-1',
    '1 says short',
    '1 failed RangeError retry',
    '2 start scripted-1',
    '2 says long',
    '2 says  enough',
    'stood 2',
  ])
  expect(result?.messages.map(textOf)).toEqual(['Go', 'long enough'])
})

test('an attempt with another model makes the failure before it a fallback (J8)', async () => {
  const spare = scriptedModel([failing('b'), respond(say('c'))], { id: 'spare' })
  const { events } = await ran(scriptedModel([failing('a')], { id: 'own' }), [fallback([spare]), retry(1)])
  expect(told(events)).toEqual(['step 1', '1 start own', '1 failed a fallback', '2 start spare', '2 failed b none'])
})

test('each of two parallel attempts has its events; the failed one of which the other was accepted has next none (J7, J8, C13)', async () => {
  const model = scriptedModel([
    respond(wait(10), say('half'), wait(10), fail({ code: 'a' })),
    respond(wait(15), say('whole'), wait(15)),
  ])
  const { events, result } = await ran(model, [
    {
      name: 'asks twice',
      async *wrapModel(request, next) {
        return await Promise.any([settle(next(request)), settle(next(request))])
      },
    },
  ])
  expect(told(events)).toEqual(['step 1', '1 start scripted-1', '2 start scripted-1', '1 failed a none', 'stood 2'])
  expect(result?.text).toBe('whole')
})

test('two attempts that fail at the same time are each reported once, before the next attempt or at the end (J7, J8)', async () => {
  const both: Middleware = {
    name: 'asks twice',
    async *wrapModel(request, next) {
      return await Promise.any([settle(next(request)), settle(next(request))])
    },
  }
  const thenOther = (model: Model): Middleware => ({
    name: 'then other',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next({ ...request, model })
      }
    },
  })
  const spare = scriptedModel([failing('c'), failing('d')], { id: 'spare' })
  const own = scriptedModel([respond(wait(20), fail({ code: 'a' })), respond(wait(10), fail({ code: 'b' }))], {
    id: 'own',
  })
  const { events, error } = await ran(own, [thenOther(spare), both])
  expect(told(events)).toEqual([
    'step 1',
    '1 start own',
    '2 start own',
    '2 failed b fallback',
    '1 failed a fallback',
    '3 start spare',
    '4 start spare',
    '3 failed c none',
    '4 failed d none',
  ])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'asks twice' })
})

test('a wrap identifies the failed one of two parallel attempts by its error (J7)', async () => {
  const model = scriptedModel([respond(wait(20), fail({ code: 'a' })), respond(wait(10), fail({ code: 'b' }))])
  const { events } = await ran(model, [
    {
      name: 'tells',
      async *wrapModel(request, next) {
        const settled = await Promise.allSettled([settle(next(request)), settle(next(request))])
        for (const one of settled) {
          if (one.status === 'rejected') yield { type: 'attempt-failed', error: one.reason, next: 'none' }
        }
        return answer('neither')
      },
    },
  ])
  expect(told(events).slice(3)).toEqual(['1 failed a none', '2 failed b none', 'stood undefined'])
})

test('an abort while a wrap waits after a reported retry: no further attempt, and no second report (J8, J6)', async () => {
  const model = scriptedModel([failing('a')])
  const controller = new AbortController()
  const agent = createAgent({ model, middleware: [retry(2, { tells: true, waitMs: 500 })] })
  const collecting = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.runAllTimersAsync()
  const { events, error } = await collecting
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(told(events).slice(0, 3)).toEqual(['step 1', '1 start scripted-1', '1 failed a retry'])
  expect(model.requests).toHaveLength(1)
})

test('deltas of a failed attempt are shown as they arrive, and enter neither history nor the next request (J9)', async () => {
  const executed = vi.fn()
  const model = scriptedModel([
    respond(say('half'), call('echo', { text: 'never' }), fail()),
    respond(say('whole'), call('echo', { text: 'a' })),
    respond(say('done')),
  ])
  const agent = createAgent({ model, tools: [{ ...echo, execute: executed }], middleware: [retry(2)] })
  const { events, result } = await collect(agent.stream('Go'))
  const deltas = events.flatMap((event) => (event.type === 'text-delta' ? [[event.attempt, event.delta]] : []))
  expect(deltas).toEqual([
    [1, 'half'],
    [2, 'whole'],
    [1, 'done'],
  ])
  expect(executed.mock.calls.map(([input]) => input)).toEqual([{ text: 'a' }])
  expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: 'Go' }])
  expect(model.requests[2]?.messages.map(textOf)).toEqual(['Go', 'whole', ''])
  expect(result?.messages.map(textOf)).toEqual(['Go', 'whole', '', 'done'])
})

test('attempts count from 1 in each step, through retries and other models alike (J10)', async () => {
  const own = scriptedModel([failing('a'), failing('b'), respond(call('none')), respond(say('d'))], { id: 'own' })
  const spare = scriptedModel([failing('c'), respond(call('none')), respond(say('e'))], { id: 'spare' })
  const { events } = await ran(own, [fallback([spare]), retry(2)])
  expect(told(events)).toEqual([
    'step 1',
    '1 start own',
    '1 failed a retry',
    '2 start own',
    '2 failed b fallback',
    '3 start spare',
    '3 failed c retry',
    '4 start spare',
    'stood 4',
    'step 2',
    '1 start own',
    'stood 1',
    'step 3',
    '1 start own',
    '1 says d',
    'stood 1',
  ])
})

test('whatever fails and whatever reports: each failed attempt is closed once, and its next is correct (J7, J8, J10)', async () => {
  const scripts = (outcomes: readonly boolean[]): ScriptResponse[] =>
    outcomes.map((stands, index) => (stands ? respond(say('yes')) : respond(say('no'), fail({ code: `${index}` }))))
  const shape = fc.record({
    /** For each model: whether its n-th attempt succeeds. */
    outcomes: fc.array(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
    tries: fc.integer({ min: 1, max: 3 }),
    retryTells: fc.boolean(),
    fallbackTells: fc.boolean(),
  })
  const check = async ({
    outcomes,
    tries,
    retryTells,
    fallbackTells,
  }: typeof shape extends fc.Arbitrary<infer S> ? S : never) => {
    const models = outcomes.map((own, n) => scriptedModel(scripts(own), { id: `model-${n}` }))
    const [own, ...spares] = models
    if (!own) throw new Error('no model')
    const { events, error } = await ran(own, [
      fallback(spares, { tells: fallbackTells }),
      retry(tries, { tells: retryTells }),
    ])

    // The expected attempts: each model in turn, with its retries, until one attempt is accepted.
    const attempts: { readonly model: string; readonly stands: boolean }[] = []
    for (const [n, tried] of outcomes.entries()) {
      for (const stands of tried.slice(0, tries)) {
        if (!attempts.at(-1)?.stands) attempts.push({ model: `model-${n}`, stands })
      }
    }
    const expected = attempts.flatMap(({ model, stands }, index) => {
      const following = attempts[index + 1]
      const next = following ? (following.model === model ? 'retry' : 'fallback') : 'none'
      return [`${index + 1} start ${model}`, ...(stands ? [] : [`${index + 1} failed ${next}`])]
    })
    const seen = events.flatMap((event) => {
      if (event.type === 'attempt-start') return [`${event.attempt} start ${event.model.id}`]
      return event.type === 'attempt-failed' ? [`${event.attempt} failed ${event.next}`] : []
    })
    expect(seen).toEqual(expected)
    expect(error === undefined).toBe(attempts.at(-1)?.stands)
  }
  await fc.assert(fc.asyncProperty(shape, check), propertyRuns({ small: 15, middle: 24, whole: 10_000 }))
})
