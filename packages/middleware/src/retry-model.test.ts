import {
  collect,
  cut,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  think,
  wait,
} from '@meanwhile/assemble/testing'
import {
  AgentError,
  type AgentEvent,
  ConfigError,
  createAgent,
  type Middleware,
  type Model,
  ModelError,
  RetriesExhaustedError,
  textOf,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RetryAttempt, type RetryModelOptions, retryModel } from './retry-model.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const hello = respond(say('Hello.'))
const noChance = { random: () => 0 }

/** A run of these responses inside retryModel, and the time of each request. */
async function asked(
  responses: readonly ScriptResponse[],
  options: RetryModelOptions = {},
  { outer = [], inner = [] }: { readonly outer?: readonly Middleware[]; readonly inner?: readonly Middleware[] } = {},
) {
  const begin = performance.now()
  const times: number[] = []
  const script = responses.map((response) => () => {
    times.push(Math.round(performance.now() - begin))
    return response
  })
  const model = scriptedModel(script)
  const agent = createAgent({ model, middleware: [...outer, retryModel({ ...noChance, ...options }), ...inner] })
  const collected = await played(collect(agent.stream('Hi')))
  return { ...collected, times, requests: model.requests }
}

/** The events of attempts, with their errors as codes. */
const attempts = (events: readonly AgentEvent[]) =>
  events.flatMap((event): Record<string, unknown>[] => {
    if (event.type === 'attempt-start') return [{ type: event.type, step: event.step, attempt: event.attempt }]
    if (event.type !== 'attempt-failed') return []
    const { type, attempt, next, waitMs, error } = event
    return [{ type, attempt, next, ...(waitMs !== undefined && { waitMs }), code: (error as ModelError).code }]
  })

/** A model that throws these one after another, then answers Hello. */
function throwing(...errors: readonly unknown[]): Model & { readonly requests: number } {
  let requests = 0
  return {
    provider: 'throwing',
    id: 'throwing-1',
    get requests() {
      return requests
    },
    async *stream() {
      const error = errors[requests++]
      if (requests <= errors.length) throw error
      yield { type: 'text-delta', delta: 'Hello.' }
      return { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }], finishReason: 'stop' }
    },
  }
}

const outcomeOf = (model: Model, options: RetryModelOptions = {}) =>
  played(collect(createAgent({ model, middleware: [retryModel({ ...noChance, ...options })] }).stream('Hi')))

test('a retry stays inside its step: hooks and outer wraps run once, inner wraps once per attempt (J1)', async () => {
  const seen: string[] = []
  const seer = (name: string): Middleware => ({
    name,
    beforeModel: () => void seen.push(`${name} before`),
    afterModel: () => void seen.push(`${name} after`),
    async *wrapModel(request, next) {
      seen.push(`${name} in`)
      try {
        return yield* next(request)
      } finally {
        seen.push(`${name} out`)
      }
    },
  })
  const { result } = await asked(
    [respond(fail()), respond(cut()), hello],
    {},
    { outer: [seer('A')], inner: [seer('B')] },
  )
  expect(seen).toEqual([
    'A before',
    'B before',
    'A in',
    'B in',
    'B out',
    'B in',
    'B out',
    'B in',
    'B out',
    'A out',
    'B after',
    'A after',
  ])
  expect(result).toMatchObject({ text: 'Hello.', steps: 1 })
})

test('by default temporary errors are retried: 408, 409, 429, 5xx, an error inside a stream, a truncated stream (J2)', async () => {
  for (const status of [408, 409, 429, 500, 503, 529]) {
    expect((await asked([respond(fail({ status })), hello])).result?.text).toBe('Hello.')
    expect((await asked([respond(say('Well'), fail({ status })), hello])).result?.text).toBe('Hello.')
  }
  expect((await asked([respond(say('Well'), cut()), hello])).result?.text).toBe('Hello.')
  const connection = new ModelError('refused', { code: 'connection', retryable: true })
  expect((await outcomeOf(throwing(connection))).result?.text).toBe('Hello.')
})

test('by default other errors are not: other 4xx, too long a context, anything else that was thrown (J2, J11)', async () => {
  for (const status of [400, 401, 403, 404, 422]) {
    const { error, times } = await asked([respond(fail({ status })), hello])
    expect(error).toMatchObject({ name: 'ModelError', status })
    expect(times).toEqual([0])
  }
  class Special extends AgentError {}
  const tooLong = new ModelError('too long', { code: 'context_length_exceeded', status: 400, retryable: false })
  for (const thrown of [tooLong, new Special('enough'), new ConfigError('model', 'is not one')]) {
    const model = throwing(thrown)
    expect((await outcomeOf(model)).error).toBe(thrown)
    expect(model.requests).toBe(1)
  }
  const model = throwing(new Error('a bug'))
  expect((await outcomeOf(model)).error).toMatchObject({ name: 'ModelError', message: 'a bug', retryable: false })
  expect(model.requests).toBe(1)
})

test('when replaces the rule: it may retry other errors, and refuse temporary ones (J3)', async () => {
  const { result } = await asked([respond(fail({ status: 400 })), hello], { when: () => true })
  expect(result?.text).toBe('Hello.')
  const { error, times } = await asked([respond(fail({ status: 503 })), hello], { when: () => false })
  expect(error).toMatchObject({ name: 'ModelError', status: 503 })
  expect(times).toEqual([0])
})

test('when receives the error, how many attempts have failed, whether it was the last, and the partial message (J3)', async () => {
  const told: [unknown, RetryAttempt][] = []
  const when: RetryModelOptions['when'] = (error, attempt) => {
    told.push([error, attempt])
    return true
  }
  const { error } = await asked([respond(fail({ status: 503 })), respond(say('Well, yes'), fail({ status: 500 }))], {
    when,
    maxRetries: 1,
  })
  expect(error).toBeInstanceOf(RetriesExhaustedError)
  const partial = (text?: string) => ({
    role: 'assistant',
    content: text === undefined ? [] : [{ type: 'text', text }],
    finishReason: 'error',
  })
  expect(told).toEqual([
    [expect.objectContaining({ status: 503 }), { attempt: 1, isLast: false, partial: partial() }],
    [expect.objectContaining({ status: 500 }), { attempt: 2, isLast: true, partial: partial('Well, yes') }],
  ])
  const other = throwing(new AgentError('no response at all'))
  await outcomeOf(other, { when, maxRetries: 1 })
  expect(told.at(-1)).toEqual([new AgentError('no response at all'), { attempt: 1, isLast: false }])
})

test('when is not called for an accepted message, nor for an abort (J3, J2)', async () => {
  const when = vi.fn<NonNullable<RetryModelOptions['when']>>(() => true)
  const { times } = await asked([respond(say('')), hello], { when })
  expect(times).toEqual([0])
  expect(when).not.toHaveBeenCalled()

  const controller = new AbortController()
  const model = scriptedModel([respond(wait(1_000), say('Late.')), hello])
  const run = createAgent({ model, middleware: [retryModel({ when })] }).stream('Hi', { signal: controller.signal })
  const collected = collect(run)
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  expect((await played(collected)).error).toMatchObject({ name: 'AbortError' })
  expect(when).not.toHaveBeenCalled()
  expect(model.requests).toHaveLength(1)
})

test('the waits double from 100 ms, to the millisecond (J4)', async () => {
  const failures = [respond(fail()), respond(fail()), respond(fail()), respond(fail())]
  expect((await asked([...failures, hello], { maxRetries: 4 })).times).toEqual([0, 100, 300, 700, 1_500])
  const half = { random: () => 0.5 }
  expect((await asked([...failures, hello], { maxRetries: 4, ...half })).times).toEqual([0, 125, 375, 875, 1_875])
  const own = { baseDelay: 10, maxDelay: 25, jitter: 0 }
  expect((await asked([...failures, hello], { maxRetries: 4, ...own })).times).toEqual([0, 10, 30, 55, 80])
})

test('a longer Retry-After replaces the wait, a shorter one does not (J5)', async () => {
  const { times, events } = await asked([
    respond(fail({ status: 429, retryAfter: 1_700 })),
    respond(fail({ status: 503, retryAfter: 150 })),
    hello,
  ])
  expect(times).toEqual([0, 1_700, 1_900])
  expect(attempts(events)).toMatchObject([{}, { waitMs: 1_700 }, {}, { waitMs: 200 }, {}])
})

test('a Retry-After above maxRetryAfter fails at once with the error itself (J5, J11)', async () => {
  const response = (retryAfter: number) => [respond(fail({ status: 429, retryAfter })), hello]
  const refused = await asked(response(60_001))
  expect(refused.error).toMatchObject({ name: 'ModelError', status: 429, retryAfter: 60_001 })
  expect(refused.times).toEqual([0])
  expect((await asked(response(60_000))).times).toEqual([0, 60_000])
  expect((await asked(response(501), { maxRetryAfter: 500 })).times).toEqual([0])
})

test('an abort during the wait ends it at once, without a timer or a further request (J6)', async () => {
  const controller = new AbortController()
  const model = scriptedModel([respond(fail()), hello])
  const agent = createAgent({ model, middleware: [retryModel({ baseDelay: 5_000 })] })
  const collected = collect(agent.stream('Hi', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(vi.getTimerCount()).toBe(1)
  controller.abort(new Error('enough'))
  const { error, events } = await collected
  expect(error).toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  expect(vi.getTimerCount()).toBe(0)
  expect(model.requests).toHaveLength(1)
  // Announced before it was stopped.
  expect(attempts(events).map(({ type, next }) => [type, next])).toEqual([
    ['attempt-start', undefined],
    ['attempt-failed', 'retry'],
  ])
})

test('each attempt opens with attempt-start, each failed one closes with one attempt-failed that states what follows (J7, J8)', async () => {
  const { events } = await asked([respond(fail()), respond(say('Well'), cut()), hello])
  expect(attempts(events)).toEqual([
    { type: 'attempt-start', step: 1, attempt: 1 },
    { type: 'attempt-failed', attempt: 1, next: 'retry', waitMs: 100, code: 'server_error' },
    { type: 'attempt-start', step: 1, attempt: 2 },
    { type: 'attempt-failed', attempt: 2, next: 'retry', waitMs: 200, code: 'stream_truncated' },
    { type: 'attempt-start', step: 1, attempt: 3 },
  ])
  expect(events.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'attempt-failed',
    'attempt-start',
    'text-delta',
    'attempt-failed',
    'attempt-start',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
  expect(events.find(({ type }) => type === 'step-end')).toMatchObject({ attempt: 3 })
})

test('the last failure has next none (J8)', async () => {
  const { events } = await asked([respond(fail()), respond(fail({ code: 'overloaded' }))], { maxRetries: 1 })
  expect(attempts(events)).toEqual([
    { type: 'attempt-start', step: 1, attempt: 1 },
    { type: 'attempt-failed', attempt: 1, next: 'retry', waitMs: 100, code: 'server_error' },
    { type: 'attempt-start', step: 1, attempt: 2 },
    { type: 'attempt-failed', attempt: 2, next: 'none', code: 'overloaded' },
  ])
})

test('deltas of a failed attempt are shown and stay shown, but are neither in the history nor in the next request (J9)', async () => {
  const { events, result, requests } = await asked([respond(think('Hm'), say('Wrong'), fail()), respond(say('Right'))])
  const deltas = events.flatMap((event) => ('delta' in event ? [[event.attempt, event.type, event.delta]] : []))
  expect(deltas).toEqual([
    [1, 'reasoning-delta', 'Hm'],
    [1, 'text-delta', 'Wrong'],
    [2, 'text-delta', 'Right'],
  ])
  expect(result?.messages).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'text', text: 'Right' }], finishReason: 'stop' },
  ])
  expect(requests.map(({ messages }) => messages)).toEqual([
    [{ role: 'user', content: 'Hi' }],
    [{ role: 'user', content: 'Hi' }],
  ])
})

test('attempts count from 1 in each step (J10)', async () => {
  let gate = 0
  const again: Middleware = {
    name: 'again',
    beforeFinalAnswer: () => (gate++ === 0 ? { accept: false, feedback: 'Again.' } : { accept: true }),
  }
  const { events } = await asked(
    [respond(fail()), respond(say('One.')), respond(fail()), respond(say('Two.'))],
    {},
    { outer: [again] },
  )
  expect(attempts(events).map(({ step, attempt, next }) => next ?? [step, attempt])).toEqual([
    [1, 1],
    'retry',
    [1, 2],
    [2, 1],
    'retry',
    [2, 2],
  ])
})

test('after the last attempt the run fails with all errors, the last one its cause (J11)', async () => {
  const errors = ['one', 'two', 'three'].map((code) => new ModelError(code, { code, retryable: true }))
  const { error } = await outcomeOf(throwing(...errors))
  expect(error).toBeInstanceOf(RetriesExhaustedError)
  expect(error).toMatchObject({ attempts: 3, messages: [{ role: 'user', content: 'Hi' }] })
  expect((error as RetriesExhaustedError).errors).toEqual(errors)
  expect((error as RetriesExhaustedError).cause).toBe(errors[2])
})

test('an error that is not retried is thrown unchanged, also after retries of others (J11)', async () => {
  const final = new ModelError('no', { code: 'bad_request', retryable: false })
  const passing = new ModelError('busy', { code: 'busy', retryable: true })
  const { error } = await outcomeOf(throwing(passing, final))
  expect(error).toBe(final)
})

test('each step has all its attempts again (J11)', async () => {
  let gate = 0
  const again: Middleware = {
    name: 'again',
    beforeFinalAnswer: () => (gate++ === 0 ? { accept: false, feedback: 'Again.' } : { accept: true }),
  }
  const twoFailures = [respond(fail()), respond(fail())]
  const { result } = await asked([...twoFailures, hello, ...twoFailures, hello], {}, { outer: [again] })
  expect(result).toMatchObject({ text: 'Hello.', steps: 2 })
})

test('inside it, the client’s own retries are off: three attempts are three requests (J12)', async () => {
  const { requests } = await asked([respond(fail()), respond(fail()), hello])
  expect(requests.map(({ clientRetries }) => clientRetries)).toEqual([0, 0, 0])
  const outside = scriptedModel([hello])
  await createAgent({ model: outside }).run('Hi')
  expect(outside.requests[0]?.clientRetries).toBeUndefined()
})

test('maxRetries: 0 passes every error on unchanged (N1)', async () => {
  const error = new ModelError('busy', { code: 'busy', retryable: true })
  const model = throwing(error)
  expect((await outcomeOf(model, { maxRetries: 0 })).error).toBe(error)
  expect(model.requests).toBe(1)
})

test('an invalid number of retries is a ConfigError naming it (N1)', () => {
  for (const maxRetries of [-1, 0.5, Number.NaN]) {
    expect(() => retryModel({ maxRetries })).toThrow(ConfigError)
    expect(() => retryModel({ maxRetries })).toThrow(expect.objectContaining({ option: 'maxRetries' }))
  }
})

test('the accepted attempt’s output reaches the reader as it streams (N2)', async () => {
  const model = scriptedModel([respond(fail()), respond(say('a'), wait(50), say('b'), wait(50))])
  const run = createAgent({ model, middleware: [retryModel(noChance)] }).stream('Hi')
  const begin = performance.now()
  const heard: [number, string][] = []
  const reading = (async () => {
    for await (const event of run) {
      if ('delta' in event) heard.push([Math.round(performance.now() - begin), event.delta])
    }
  })()
  await played(reading)
  expect(heard).toEqual([
    [100, 'a'],
    [150, 'b'],
  ])
})

test('two simultaneous runs share no counter and no wait (N3)', async () => {
  const begin = performance.now()
  const times: [string, number][] = []
  let failures = 4
  const model: Model = {
    provider: 'p',
    id: 'm',
    async *stream(request) {
      times.push([request.messages.map(textOf).join(), Math.round(performance.now() - begin)])
      if (failures-- > 0) throw new ModelError('busy', { code: 'busy', retryable: true })
      yield { type: 'text-delta', delta: 'Hello.' }
      return { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }], finishReason: 'stop' }
    },
  }
  const agent = createAgent({ model, middleware: [retryModel(noChance)] })
  const results = await played(Promise.all([agent.run('one'), agent.run('two')]))
  expect(results.map(({ text }) => text)).toEqual(['Hello.', 'Hello.'])
  expect(times).toEqual([
    ['one', 0],
    ['two', 0],
    ['one', 100],
    ['two', 100],
    ['one', 300],
    ['two', 300],
  ])
})

test('the usage of failed attempts counts, once each (B17)', async () => {
  const failed = { usage: { inputTokens: 10, outputTokens: 1 } }
  const model = throwing(
    new ModelError('cut off', {
      code: 'stream_truncated',
      retryable: true,
      partial: { role: 'assistant', content: [], finishReason: 'error', ...failed },
    }),
  )
  const { result } = await outcomeOf(model)
  expect(result?.usage).toEqual(failed.usage)
})

/** A user's wrap with its own time limit for each model call, attempts and waits together. */
const limit = (ms: number): Middleware => ({
  name: 'limit',
  async *wrapModel(request, next) {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error('time is up')), ms)
    try {
      return yield* next({ ...request, signal: AbortSignal.any([request.signal, controller.signal]) })
    } finally {
      clearTimeout(timer)
    }
  },
})

test('a time limit of an outer wrap ends an attempt, which is not retried, whatever when returns (J6, C17)', async () => {
  const { error, times } = await asked(
    [respond(wait(1_000), say('Late.')), hello],
    { when: () => true },
    { outer: [limit(50)] },
  )
  expect(error).toMatchObject({ name: 'ModelError', cause: new Error('time is up') })
  expect(times).toEqual([0])
})

test('if a time limit of an outer wrap ends a wait, the error of the last attempt is kept (J6, J11, C17)', async () => {
  const { error, times } = await asked([respond(fail({ status: 503 })), hello], {}, { outer: [limit(50)] })
  expect(error).toMatchObject({ name: 'ModelError', status: 503 })
  expect(times).toEqual([0])
  expect(vi.getTimerCount()).toBe(0)
})

test('a delay, jitter or limit that is not a number of at least 0 is a ConfigError', () => {
  for (const option of ['baseDelay', 'maxDelay', 'jitter', 'maxRetryAfter']) {
    for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY, '5']) {
      expect(() => retryModel({ [option]: value })).toThrow(ConfigError)
      expect(() => retryModel({ [option]: value })).toThrow(expect.objectContaining({ option }))
    }
    expect(() => retryModel({ [option]: 0 })).not.toThrow()
  }
})
