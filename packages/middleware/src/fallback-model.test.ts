import {
  collect,
  cut,
  fail,
  respond,
  type ScriptedModel,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import {
  AgentError,
  type AgentEvent,
  ConfigError,
  createAgent,
  type Message,
  type Middleware,
  type ModelError,
  map,
  RetriesExhaustedError,
  TimeoutError,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type FallbackModelOptions, fallbackModel, ModelsExhaustedError } from './fallback-model.ts'
import { retryModel } from './retry-model.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const model = (name: string, ...responses: readonly ScriptResponse[]) =>
  scriptedModel(responses, { provider: name, id: `${name}-1` })

const hello = respond(say('Hello.'))
const busy = respond(fail({ status: 503 }))

/** A run of the first of these models, with the others as fallbacks. */
async function asked(
  [own, ...models]: readonly [ScriptedModel, ...ScriptedModel[]],
  {
    middleware = [],
    signal,
    ...options
  }: Partial<FallbackModelOptions> & { middleware?: readonly Middleware[]; signal?: AbortSignal } = {},
) {
  const agent = createAgent({ model: own, middleware: [fallbackModel({ models, ...options }), ...middleware] })
  const collected = await played(collect(agent.stream('Hi', { ...(signal && { signal }) })))
  return { ...collected, requests: [own, ...models].map(({ requests }) => requests.length) }
}

/** The events of attempts, one word each. */
const attempts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'attempt-start') return [`${event.attempt} ${event.model.provider} ${event.model.id}`]
    if (event.type === 'attempt-failed') return [`${event.attempt} failed, ${event.next}`]
    return []
  })

test('the models are called in order until one succeeds, each attempt with the name of its model (J13, J7, N5)', async () => {
  const { result, events, requests } = await asked([
    model('a', busy),
    model('b', respond(say('No'), cut())),
    model('c', hello),
  ])
  expect(result).toMatchObject({ text: 'Hello.', steps: 1 })
  expect(requests).toEqual([1, 1, 1])
  expect(attempts(events)).toEqual(['1 a a-1', '1 failed, fallback', '2 b b-1', '2 failed, fallback', '3 c c-1'])
})

test('if the agent’s own model succeeds, nothing else is called (J13)', async () => {
  const { result, requests } = await asked([model('a', hello), model('b')])
  expect(result?.text).toBe('Hello.')
  expect(requests).toEqual([1, 0])
})

test('if all fail there is one error per model, the last of them the cause (J13)', async () => {
  const { error, events, requests } = await asked([
    model('a', busy),
    model('b', respond(fail({ status: 400, code: 'bad' }))),
  ])
  expect(error).toBeInstanceOf(ModelsExhaustedError)
  expect(error).toMatchObject({
    name: 'ModelsExhaustedError',
    errors: [{ status: 503 }, { status: 400 }],
    cause: { code: 'bad' },
    messages: [{ role: 'user', content: 'Hi' }],
  })
  expect(requests).toEqual([1, 1])
  expect(attempts(events)).toEqual(['1 a a-1', '1 failed, fallback', '2 b b-1', '2 failed, none'])
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ errors: [{ status: 503 }, { status: 400 }] })
})

test('each model has a full cycle of the inner retryModel (J13, J8)', async () => {
  const retry = retryModel({ maxRetries: 1, random: () => 0 })
  const { events, result } = await asked([model('a', busy, busy), model('b', busy, hello)], { middleware: [retry] })
  expect(result?.text).toBe('Hello.')
  expect(attempts(events)).toEqual([
    '1 a a-1',
    '1 failed, retry',
    '2 a a-1',
    '2 failed, fallback',
    '3 b b-1',
    '3 failed, retry',
    '4 b b-1',
  ])
  const exhausted = await asked([model('a', busy, busy), model('b', busy, busy)], {
    middleware: [retryModel({ maxRetries: 1 })],
  })
  expect((exhausted.error as ModelsExhaustedError).errors).toEqual([
    expect.any(RetriesExhaustedError),
    expect.any(RetriesExhaustedError),
  ])
})

/** A wrap that throws this the first time. */
const throwing = (error: unknown): Middleware => {
  let thrown = false
  return {
    name: 'throwing',
    async *wrapModel(request, next) {
      if (thrown) return yield* next(request)
      thrown = true
      throw error
    },
  }
}

test('by default every ModelError except 400 and 422 moves on to the next model (J14)', async () => {
  for (const status of [401, 403, 404, 408, 413, 429, 500, 529]) {
    expect((await asked([model('a', respond(fail({ status }))), model('b', hello)])).result?.text).toBe('Hello.')
  }
  for (const status of [400, 422]) {
    const { error, requests } = await asked([model('a', respond(fail({ status }))), model('b', hello)])
    expect(error).toMatchObject({ name: 'ModelError', status })
    expect(requests).toEqual([1, 0])
  }
  for (const limit of ['model', 'idle'] as const) {
    const middleware = [throwing(new TimeoutError(limit, 5))]
    expect((await asked([model('a'), model('b', hello)], { middleware })).result?.text).toBe('Hello.')
  }
})

test('by default no other AgentError moves on (J14)', async () => {
  class Special extends AgentError {}
  for (const error of [new Special('enough'), new TimeoutError('run', 5), new ConfigError('x', 'y')]) {
    const run = await asked([model('a'), model('b', hello)], { middleware: [throwing(error)] })
    expect(run.error).toBe(error)
    expect(run.requests).toEqual([0, 0])
  }
})

test('when replaces the rule, and receives the model and whether it is the last (J14)', async () => {
  const told: unknown[] = []
  const when: FallbackModelOptions['when'] = (error, { model, isLast }) => {
    told.push([(error as ModelError).status, model.id, isLast])
    return (error as ModelError).status === 400
  }
  const moved = await asked([model('a', respond(fail({ status: 400 }))), model('b', busy)], { when })
  expect(moved.error).toBeInstanceOf(ModelsExhaustedError)
  const stayed = await asked([model('a', busy), model('b', hello)], { when })
  expect(stayed.error).toMatchObject({ name: 'ModelError', status: 503 })
  expect(told).toEqual([
    [400, 'a-1', false],
    [503, 'b-1', true],
    [503, 'a-1', false],
  ])
})

test('when is not called for an abort, and no further model is called (J14, N6)', async () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 10)
  const when = vi.fn(() => true)
  const { error, requests } = await asked([model('a', respond(wait(50), say('Late.'))), model('b', hello)], {
    when,
    signal: controller.signal,
  })
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(requests).toEqual([1, 0])
  expect(when).not.toHaveBeenCalled()
})

test('after an abort between two models the next is not called (N6)', async () => {
  const controller = new AbortController()
  const own = model('a', busy)
  const other = model('b', hello)
  const agent = createAgent({
    model: own,
    middleware: [
      {
        name: 'stopping',
        wrapModel: (request, next) =>
          map(next(request), (event) => {
            if (event.type === 'attempt-failed') controller.abort()
            return event
          }),
      },
      fallbackModel({ models: [other] }),
    ],
  })
  const { error, events } = await collect(agent.stream('Hi', { signal: controller.signal }))
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(other.requests).toHaveLength(0)
  expect(attempts(events)[0]).toBe('1 a a-1')
  expect(attempts(events)).not.toContain('2 b b-1')
})

/** Rejects the first answers, so that there are further steps. */
const again = (times: number): Middleware => ({
  name: 'again',
  beforeFinalAnswer: (_, run) => (run.step <= times ? { accept: false, feedback: 'Again.' } : { accept: true }),
})

test('the model that succeeded is called first in later steps, then the others in order; another run begins with the agent’s own (J15)', async () => {
  const [a, b, c] = [model('a', busy, busy, busy), model('b', hello, hello, busy, hello), model('c', hello)]
  const agent = createAgent({ model: a, middleware: [again(2), fallbackModel({ models: [b, c] })] })
  const first = await collect(agent.stream('Hi'))
  expect(attempts(first.events)).toEqual([
    '1 a a-1',
    '1 failed, fallback',
    '2 b b-1',
    '1 b b-1',
    '1 b b-1',
    '1 failed, fallback',
    '2 a a-1',
    '2 failed, fallback',
    '3 c c-1',
  ])
  const second = await collect(agent.stream('Hi again'))
  expect(attempts(second.events).slice(0, 3)).toEqual(['1 a a-1', '1 failed, fallback', '2 b b-1'])
})

const reasoned = (name: string, metadata: Readonly<Record<string, unknown>>): Message[] => [
  { role: 'user', content: [{ type: 'text', text: 'Hi', providerMetadata: { cached: true, b: { c: 1 } } }] },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.', providerMetadata: metadata },
      { type: 'text', text: name },
    ],
    finishReason: 'stop',
  },
  { role: 'user', content: 'And?' },
]

test('metadata of another provider is removed from a request, its own and unknown metadata stays, and the history is unchanged (J16)', async () => {
  const input = reasoned('Well.', { a: { signature: 's' } })
  const [a, b] = [model('a', busy), model('b', hello)]
  const result = await createAgent({ model: a, middleware: [fallbackModel({ models: [b] })] }).run(input)
  expect(a.requests[0]?.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hi', providerMetadata: { cached: true } }] },
    ...input.slice(1),
  ])
  expect(b.requests[0]?.messages).toEqual([
    input[0],
    {
      ...input[1],
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'Well.' },
      ],
    },
    input[2],
  ])
  expect(result.messages.slice(0, 3)).toEqual(input)
})

test('prepare may change the request for a model; the agent’s own model and the history are not affected (J16)', async () => {
  const [a, b] = [model('a', busy), model('b', hello)]
  const prepare: FallbackModelOptions['prepare'] = (request, { id }) => ({ ...request, instructions: `You are ${id}.` })
  const middleware = [fallbackModel({ models: [b], prepare })]
  const result = await createAgent({ model: a, instructions: 'Be brief.', middleware }).run('Hi')
  expect([a, b].map(({ requests }) => requests[0]?.instructions)).toEqual(['Be brief.', 'You are b-1.'])
  expect(result.messages).toHaveLength(2)
})

test('an empty list, or none, is a ConfigError, and so is a retryModel outside (A2, N4, O20)', () => {
  for (const options of [undefined, { models: [] }])
    expect(() => fallbackModel(options as never)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: 'models' }),
    )
  const middleware = [retryModel(), fallbackModel({ models: [model('b')] })]
  expect(() => createAgent({ model: model('a'), middleware })).toThrow(
    new ConfigError('middleware', '"fallback-model" must be outside "retry-model": put it earlier in the list'),
  )
  expect(() => createAgent({ model: model('a'), middleware: middleware.toReversed() })).not.toThrow()
})

const overflows = [
  { status: 400, code: 'context_length_exceeded', message: 'no' },
  { status: 400, message: 'prompt is too long: 201234 tokens > 200000 maximum' },
  { status: 400, message: 'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000' },
  { status: 400, message: "This model's maximum context length is 131072 tokens." },
  { status: 400, message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' },
  { status: 400, message: 'Input is too long for requested model.' },
  { status: 400, message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
  { status: 400, message: 'Invalid request: Your request exceeded model token limit: 131072' },
  { status: 400, message: "This model's maximum prompt length is 131072 but the request contains 140000 tokens." },
  { status: 400, message: 'the request exceeds the available context size, try increasing it' },
  { status: 400, message: 'Please reduce the length of the messages or completion.' },
  { status: 413, code: 'request_too_large', message: 'Request exceeds the maximum size' },
]

test('a request that is too long for a model goes to the next one, in whatever words (J14, W22)', async () => {
  for (const overflow of overflows) {
    const { result, requests } = await asked([model('a', respond(fail(overflow))), model('b', hello)])
    expect([result?.text, requests]).toEqual(['Hello.', [1, 1]])
  }
  for (const message of [
    'messages.1: all messages must have non-empty content',
    'temperature: range: 0..1',
    'tools: too many',
  ]) {
    const { error } = await asked([model('a', respond(fail({ status: 400, message }))), model('b', hello)])
    expect(error).toMatchObject({ status: 400 })
  }
})

test('a model that takes over gets a sentence for a file that it cannot read (W19)', async () => {
  const [own, other] = [model('a', busy), model('b', hello)]
  await asked([own, other])
  expect([own.requests[0]?.omitsFiles, other.requests[0]?.omitsFiles]).toEqual([undefined, true])
})
