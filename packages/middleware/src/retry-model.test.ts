import {
  type AgentEvent,
  ConfigError,
  createAgent,
  type Middleware,
  ModelError,
  RetriesExhaustedError,
  RunAbortedError,
  tool,
} from '@meanwhile/core'
import { call, collect, cut, fail, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/core/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type RetryModelOptions, retryModel } from './retry-model.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const hello = respond(say('Hello.'))

function setup(
  responses: readonly ScriptedResponse[],
  options: RetryModelOptions = {},
  more: readonly Middleware[] = [],
) {
  const model = scriptedModel(responses)
  const agent = createAgent({ model, middleware: [retryModel({ random: () => 0, ...options }), ...more] })
  return { model, agent }
}

/** What a run comes to, on the fake clock, and the times at which its attempts started. */
async function outcome(agent: ReturnType<typeof createAgent>, signal?: AbortSignal) {
  const starts: number[] = []
  const start = Date.now()
  const run = agent.stream('Hi', signal ? { signal } : {})
  const events: AgentEvent[] = []
  const read = (async () => {
    for await (const event of run) {
      events.push(event)
      if (event.type === 'attempt-start') starts.push(Date.now() - start)
    }
  })().catch(() => undefined)
  await vi.runAllTimersAsync()
  await read
  const settled = await run.result.then(
    (result) => ({ result, error: undefined }),
    (error: unknown) => ({ result: undefined, error }),
  )
  return { ...settled, events, starts }
}

test('a failed model call is repeated inside its step: hooks run once, wraps inside once per attempt (J1)', async () => {
  const seen: string[] = []
  const inner: Middleware = {
    name: 'inner',
    beforeModel: () => void seen.push('before'),
    afterModel: () => void seen.push('after'),
    async *wrapModel(request, next) {
      seen.push('wrap')
      return yield* next(request)
    },
  }
  const { agent } = setup([respond(fail()), hello], {}, [inner])
  const { result } = await outcome(agent)

  expect(seen).toEqual(['before', 'wrap', 'wrap', 'after'])
  expect(result?.steps).toBe(1)
  expect(result?.text).toBe('Hello.')
})

test.each([408, 409, 429, 500, 503, 529])('HTTP %i is repeated (J2)', async (status) => {
  const { agent } = setup([respond(fail({ status })), hello])
  expect((await outcome(agent)).result?.text).toBe('Hello.')
})

test.each([400, 401, 403, 404, 413, 422])(
  'HTTP %i is not repeated and surfaces as itself (J2, J11)',
  async (status) => {
    const { agent, model } = setup([respond(fail({ status })), hello])
    const { error } = await outcome(agent)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ status })
    expect(model.requests).toHaveLength(1)
  },
)

test('a truncated stream and an error inside a stream are repeated (J2)', async () => {
  const { agent } = setup([respond(say('Hel'), cut()), respond(say('Hell'), fail({ status: 529 })), hello])
  expect((await outcome(agent)).result?.text).toBe('Hello.')
})

test('`when` replaces the rule, and is told the attempt, whether it is the last, and what had come (J3)', async () => {
  const asked: unknown[] = []
  const when: RetryModelOptions['when'] = (error, { attempt, isLast, partial }) => {
    asked.push([(error as ModelError).status, attempt, isLast, partial?.content])
    return true
  }
  const { agent } = setup([respond(fail({ status: 400 })), respond(say('Hel'), fail({ status: 400 })), hello], { when })
  expect((await outcome(agent)).result?.text).toBe('Hello.')
  expect(asked).toEqual([
    [400, 1, false, []],
    [400, 2, false, [{ type: 'text', text: 'Hel' }]],
  ])
})

test('the waits double from the base delay, with a part of them added by chance, up to the limit (J4)', async () => {
  const failures = Array.from({ length: 5 }, () => respond(fail()))
  const exact = await outcome(setup([...failures, hello], { maxRetries: 5, maxDelay: 500 }).agent)
  expect(exact.starts).toEqual([0, 100, 300, 700, 1200, 1700])

  const random = () => 0.5
  const jittered = await outcome(setup([respond(fail()), respond(fail()), hello], { random }).agent)
  expect(jittered.starts).toEqual([0, 125, 375])
})

test('a longer Retry-After replaces the wait, a shorter one does not (J5)', async () => {
  const { agent } = setup([respond(fail({ retryAfter: 3_000 })), respond(fail({ retryAfter: 50 })), hello])
  expect((await outcome(agent)).starts).toEqual([0, 3_000, 3_200])
})

test('a Retry-After above the limit fails at once, with the error itself (J5)', async () => {
  const { agent, model } = setup([respond(fail({ status: 429, retryAfter: 61_000 })), hello])
  const { error } = await outcome(agent)
  expect(error).toMatchObject({ name: 'ModelError', status: 429, retryAfter: 61_000 })
  expect(model.requests).toHaveLength(1)
})

test('an abort during the wait ends it at once: no further request, no timer (J6)', async () => {
  const controller = new AbortController()
  const { agent, model } = setup([respond(fail({ retryAfter: 30_000 })), hello])
  const run = agent.run('Hi', { signal: controller.signal })
  const settled = expect(run).rejects.toBeInstanceOf(RunAbortedError)
  await vi.advanceTimersByTimeAsync(1_000)
  controller.abort()
  await settled
  expect(model.requests).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('each attempt opens and each failed one closes once, saying what follows and after which wait (J7, J8, J9)', async () => {
  const { agent } = setup([respond(say('Hel'), fail()), respond(fail()), hello])
  const { events, result } = await outcome(agent)
  const told = events.flatMap((event) => {
    if (event.type === 'attempt-start') return [`start ${event.attempt}`]
    if (event.type === 'attempt-failed') return [`failed ${event.attempt}, ${event.next} in ${event.waitMs}`]
    return event.type === 'text-delta' ? [`${event.attempt}: ${event.delta}`] : []
  })
  expect(told).toEqual([
    'start 1',
    '1: Hel',
    'failed 1, retry in 100',
    'start 2',
    'failed 2, retry in 200',
    'start 3',
    '3: Hello.',
  ])
  expect(result?.messages).toHaveLength(2)
})

test('when all tries are used the run fails with every error, the last as cause, and the last attempt says none (J8, J11)', async () => {
  const { agent } = setup([
    respond(fail({ status: 500 })),
    respond(fail({ status: 502 })),
    respond(fail({ status: 503 })),
  ])
  const { error, events } = await outcome(agent)
  expect(error).toBeInstanceOf(RetriesExhaustedError)
  expect(error).toMatchObject({
    attempts: 3,
    errors: [{ status: 500 }, { status: 502 }, { status: 503 }],
    cause: { status: 503 },
  })
  const next = events.flatMap((event) => (event.type === 'attempt-failed' ? [event.next] : []))
  expect(next).toEqual(['retry', 'retry', 'none'])
})

test('inside it the vendor client is told to make no retries of its own (J12)', async () => {
  const { agent, model } = setup([hello])
  await outcome(agent)
  expect(model.requests[0]?.clientRetries).toBe(0)
})

test('no retries at all passes every error on as it is, and a count that is none is refused (N1)', async () => {
  const { agent } = setup([respond(fail({ status: 503 }))], { maxRetries: 0 })
  expect((await outcome(agent)).error).toMatchObject({ name: 'ModelError', status: 503 })
  expect(() => retryModel({ maxRetries: -1 })).toThrow(ConfigError)
  expect(() => retryModel({ maxRetries: 1.5 })).toThrow('maxRetries')
})

test('what the standing attempt says streams on as it comes (N2)', async () => {
  const model = scriptedModel([respond(fail()), respond(say('One two three'))], {
    pace: { firstToken: 10, betweenTokens: 10 },
  })
  const agent = createAgent({ model, middleware: [retryModel({ random: () => 0 })] })
  const start = Date.now()
  const heard: number[] = []
  const read = (async () => {
    for await (const event of agent.stream('Hi')) if (event.type === 'text-delta') heard.push(Date.now() - start)
  })()
  await vi.runAllTimersAsync()
  await read
  expect(heard.map((at) => at - (heard[0] ?? 0))).toEqual([0, 10, 20])
})

test('two runs at once share no counter and no wait (N3)', async () => {
  const { agent } = setup([respond(fail()), respond(fail()), hello, hello], { maxRetries: 1 })
  const runs = Promise.all([agent.run('Hi'), agent.run('Hi')])
  await vi.runAllTimersAsync()
  expect((await runs).map(({ text }) => text)).toEqual(['Hello.', 'Hello.'])
})

test('a call that a failed attempt had started is not made again (J1)', async () => {
  let runs = 0
  const count = tool({ name: 'count', description: 'c', input: z.object({}), effect: 'read', execute: () => ++runs })
  const early: Middleware = {
    name: 'early',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        if (step.value.type === 'tool-call') run.callTool(step.value.call).catch(() => undefined)
        yield step.value
      }
    },
  }
  const model = scriptedModel([
    respond(call('count', {}, { id: 'a' }), fail()),
    respond(call('count', {}, { id: 'b' })),
    respond(say('One.')),
  ])
  const agent = createAgent({ model, tools: [count], middleware: [retryModel(), early] })
  const collected = collect(agent.stream('Count'))
  await vi.runAllTimersAsync()
  expect((await collected).result?.text).toBe('One.')
  expect(runs).toBe(1)
})
