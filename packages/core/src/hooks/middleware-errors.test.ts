import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { echo } from '../../test/tools.ts'
import {
  AgentError,
  type AgentState,
  type AssistantMessage,
  createAgent,
  type Flow,
  type Message,
  type Middleware,
  MiddlewareError,
  ModelError,
  type ModelFlow,
  type ModelRequest,
  map,
  RunAbortedError,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, say, scriptedModel, wait } from '../testing.ts'

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

/** A tool step, then an answer. */
const twoSteps = () => scriptedModel([respond(call('echo', { text: 'a' })), respond(say('done'))])

/** What a run of two steps with this middleware comes to. */
async function failureOf(middleware: Omit<Middleware, 'name'>): Promise<unknown> {
  const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [{ name: 'faulty', ...middleware }] })
  return (await collect(agent.stream('Go'))).error
}

const oops = new Error('oops')
const throws = () => {
  throw oops
}

const hooks = ['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer'] as const

test.for(hooks)('a throw in %s ends the run as MiddlewareError (C17, E5)', async (hook) => {
  for (const faulty of [throws, async () => throws()]) {
    const error = await failureOf({ [hook]: faulty })
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'faulty', hook, message: `middleware faulty, ${hook}: threw oops` })
    expect(error).toHaveProperty('cause', oops)
  }
})

const image = { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) }] }

test.for<readonly [hook: string, middleware: object]>([
  ['beforeModel', { beforeModel: ({ messages }: AgentState) => ({ messages: [...messages, image] }) }],
  ['afterModel', { afterModel: ({ messages }: AgentState) => ({ messages: [image, ...messages] }) }],
  ['beforeFinalAnswer', { beforeFinalAnswer: () => ({ accept: false, feedback: [image] }) }],
])(
  'a message of a %s whose part is none is a MiddlewareError that says what one is (C17)',
  async ([hook, middleware]) => {
    const message = expect.stringMatching(/a part of its content is .*, its data as base64 or \{ url \}$/)
    expect(await failureOf(middleware)).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook, message })
  },
)

test('what is thrown need not be an Error (C17)', async () => {
  const error = await failureOf({
    beforeModel() {
      throw 'a text'
    },
  })
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'beforeModel', cause: 'a text' })
})

test('a verdict that is none is told of the two there are (C9)', async () => {
  for (const verdict of JSON.parse('[true, {}, { "accept": "yes" }]')) {
    const error = await failureOf({ beforeFinalAnswer: () => verdict })
    expect(error).toMatchObject({
      name: 'MiddlewareError',
      message: expect.stringMatching(/must be { accept: true } or { accept: false, feedback: '…' }$/),
    })
  }
})

const faultyWraps: readonly (readonly [string, Omit<Middleware, 'name'>])[] = [
  ['when it is called', { wrapModel: throws }],
  [
    'before next',
    {
      async *wrapModel() {
        throw oops
      },
    },
  ],
  ['at an event', { wrapModel: (request, next) => map(next(request), throws) }],
  [
    'after next',
    {
      async *wrapModel(request, next) {
        yield* next(request)
        throw oops
      },
    },
  ],
  ['when it is called', { wrapAgent: throws }],
  ['at an event', { wrapAgent: (setup, next) => map(next(setup), throws) }],
  [
    'after next',
    {
      async *wrapAgent(setup, next) {
        yield* next(setup)
        throw oops
      },
    },
  ],
]

test.for(faultyWraps.map(([when, wraps]) => [Object.keys(wraps)[0] ?? '', when, wraps] as const))(
  'what %s throws on its own %s ends the run as MiddlewareError (C17)',
  async ([hook, , wraps]) => {
    const error = await failureOf(wraps)
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'faulty', hook })
    expect(error).toHaveProperty('cause', oops)
  },
)

const wrapHooks = ['wrapAgent', 'wrapModel', 'wrapToolCall'] as const

test.for(wrapHooks)('%s that gives back no flow is told to be an async generator (C17)', async (hook) => {
  const lost = async () => Promise.reject(new Error('lost'))
  for (const give of [async () => answer('mine'), lost, () => undefined, () => answer('mine')]) {
    const error = await failureOf({ [hook]: give })
    const message = `middleware faulty, ${hook}: the wrap gave back no flow; make it \`async *${hook}(…)\``
    expect(error).toMatchObject({ name: 'MiddlewareError', message })
  }
})

/** Wraps everything and keeps what comes up. */
function watching(name: string, seen: unknown[]): Middleware {
  return {
    name,
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
  }
}

test('a model’s error passes all wraps as the same object (C17)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: scriptedModel([respond(fail({ status: 401, code: 'unauthorized' }))]),
    middleware: [watching('A', seen), watching('B', seen)],
  })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ code: 'unauthorized' })
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === error)).toBe(true)
})

class QuotaError extends AgentError {
  override readonly name = 'QuotaError'
}

const quota = new QuotaError('used up')

const quotaThrowers: Readonly<Record<string, Omit<Middleware, 'name'>>> = Object.fromEntries(
  [...hooks, 'wrapModel', 'wrapAgent', 'wrapToolCall'].map((hook) => [
    hook,
    {
      [hook]: () => {
        throw quota
      },
    },
  ]),
)

test.for(Object.entries(quotaThrowers))(
  'a subclass of AgentError thrown in %s ends the run as the same object (C17, C18)',
  async ([, thrower]) => {
    const seen: unknown[] = []
    const agent = createAgent({
      model: twoSteps(),
      tools: [echo],
      middleware: [watching('A', seen), { name: 'quota', ...thrower }],
    })
    expect((await collect(agent.stream('Go'))).error).toBe(quota)
    expect(seen.every((one) => one === quota)).toBe(true)
  },
)

test('an AgentError of a tool passes the wraps of call and run as the same object (C17, C18, A12)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: twoSteps(),
    tools: [
      tool({
        ...echo,
        execute: (): string => {
          throw quota
        },
      }),
    ],
    middleware: [watching('A', seen), watching('B', seen)],
  })
  expect((await collect(agent.stream('Go'))).error).toBe(quota)
  expect(seen).toEqual([quota, quota, quota, quota])
})

test('an abort passes all wraps as the same object (C17)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: scriptedModel([respond(wait(1), say('late'))]),
    middleware: [watching('A', seen), watching('B', seen)],
  })
  const reason = new Error('enough')
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  controller.abort(reason)
  const { error } = await collect(run)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(error).toHaveProperty('cause', reason)
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === error)).toBe(true)
})

test.for(hooks)('a throw of %s that answers an abort is the abort, and blames nobody (C17)', async (hook) => {
  const seen: unknown[] = []
  const controller = new AbortController()
  const agent = createAgent({
    model: twoSteps(),
    tools: [echo],
    middleware: [
      watching('A', seen),
      {
        name: 'heeds',
        [hook]: () => {
          controller.abort()
          throw oops
        },
      },
    ],
  })
  const { error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(seen).toEqual(hook === 'beforeAgent' ? [] : [error])
})

const noAnswer: readonly (readonly [string, readonly Message[]])[] = [
  ['nothing', []],
  ['a user message', [{ role: 'user', content: 'Go' }]],
  [
    'a tool message',
    [{ role: 'user', content: 'Go' }, answer('Hm.'), { role: 'tool', callId: 'c', name: 'echo', content: [] }],
  ],
]

test.for(noAnswer)('a state of afterModel that ends with %s is a MiddlewareError (C9)', async ([, messages]) => {
  const error = await failureOf({ afterModel: () => ({ messages }) })
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook: 'afterModel' })
})

const noResult = [
  ['wrapModel', 'null', 'passes on'],
  ['wrapModel', '{"role":"user","content":"Hi"}', 'passes nothing on'],
  ['wrapToolCall', 'null', 'passes on'],
  ['wrapToolCall', '{"role":"tool"}', 'passes nothing on'],
  ['wrapAgent', 'null', 'passes on'],
] as const

test.for(noResult)('a %s that returns %s and %s is a MiddlewareError (C16)', async ([hook, json, passes]) => {
  const error = await failureOf({
    async *[hook](given: never, next: (given: never) => Flow<never, unknown>) {
      if (passes === 'passes on') yield* next(given)
      return JSON.parse(json)
    },
  })
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook })
  expect(error).not.toHaveProperty('cause')
})

test('a next called after its wrap is out is a MiddlewareError, and requests nothing (C16)', async () => {
  const model = twoSteps()
  const executed: unknown[] = []
  const errors: unknown[] = []
  const leaked: (() => unknown)[] = []
  const agent = createAgent({
    model,
    tools: [tool({ ...echo, execute: ({ text }) => `execution ${executed.push(text)}` })],
    middleware: [
      {
        name: 'leaky',
        async *wrapAgent(setup, next) {
          leaked.push(() => next(setup))
          return yield* next(setup)
        },
        async *wrapModel(request, next) {
          leaked.push(() => next(request))
          return yield* next(request)
        },
        async *wrapToolCall(call, next) {
          leaked.push(() => next(call))
          return yield* next(call)
        },
      },
    ],
  })
  await agent.run('Go')
  for (const next of leaked) {
    try {
      next()
    } catch (error) {
      errors.push(error)
    }
  }
  expect(errors).toMatchObject(
    ['wrapAgent', 'wrapModel', 'wrapToolCall', 'wrapModel'].map((hook) => ({ middleware: 'leaky', hook })),
  )
  expect(errors.every((error) => error instanceof MiddlewareError)).toBe(true)
  expect(model.requests).toHaveLength(2)
  expect(executed).toHaveLength(1)
})

test('a leaked next that is called in a later step ends the run (C16)', async () => {
  let leaked: ((request: ModelRequest) => ModelFlow) | undefined
  const model = twoSteps()
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'leaky',
        async *wrapModel(request, next) {
          leaked ??= next
          return yield* leaked(request)
        },
      },
    ],
  })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'leaky', hook: 'wrapModel' })
  expect(model.requests).toHaveLength(1)
})

test('a flow of next that is first pulled after its wrap is out requests nothing (C15, C16)', async () => {
  const model = scriptedModel([])
  let kept: ModelFlow | undefined
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'keeps',
        async *wrapModel(request, next) {
          kept = next(request)
          return answer('without you')
        },
      },
    ],
  })
  const { events } = await collect(agent.stream('Go'))
  expect(await kept?.next()).toEqual({ done: true, value: undefined })
  expect(model.requests).toHaveLength(0)
  expect(events.map(({ type }) => type)).not.toContain('attempt-start')
})

test('what wrapToolCall throws is its call’s failure, without stack, and the run goes on (C18)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' }), call('echo', { text: 'b' })), respond(say('done'))]),
    tools: [echo],
    middleware: [
      {
        name: 'picky',
        async *wrapToolCall(call, next) {
          const message = yield* next(call)
          if (textOf(message) === 'a') throw oops
          return message
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  const messages: readonly ToolMessage[] = [
    { role: 'tool', callId: 'call_1_1', name: 'echo', content: [{ type: 'text', text: 'oops' }], isError: true },
    { role: 'tool', callId: 'call_1_2', name: 'echo', content: [{ type: 'text', text: 'b' }], output: 'b' },
  ]
  expect(result?.messages.slice(2, 4)).toEqual(messages)
  expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : [])).toSorted(byId)).toEqual(messages)
  expect(result?.text).toBe('done')
})

const byId = (a: ToolMessage, b: ToolMessage) => a.callId.localeCompare(b.callId)

test('a tool’s throw reaches wrapToolCall as the same throw, to retry or replace (C18)', async () => {
  const seen: unknown[] = []
  const agent = createAgent({
    model: twoSteps(),
    tools: [
      tool({
        ...echo,
        execute: (): string => {
          throw oops
        },
      }),
    ],
    middleware: [
      {
        name: 'replaces',
        async *wrapToolCall(call, next) {
          try {
            return yield* next(call)
          } catch (error) {
            seen.push(error)
            return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'never mind' }] }
          }
        },
      },
      watching('inside', seen),
    ],
  })
  const result = await agent.run('Go')
  expect(seen).toEqual([oops, oops])
  expect(seen.every((one) => one === oops)).toBe(true)
  expect(result.messages[2]).toEqual({
    role: 'tool',
    callId: 'call_1_1',
    name: 'echo',
    content: [{ type: 'text', text: 'never mind' }],
  })
})

test('the span of a wrapToolCall that threw names it and its failure; those outside it show it, those inside not (C18)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const passing = (name: string): Middleware => ({
    name,
    async *wrapToolCall(call, next) {
      return yield* next(call)
    },
  })
  const agent = createAgent({
    model: twoSteps(),
    tools: [echo],
    middleware: [
      passing('outside'),
      {
        name: 'faulty',
        async *wrapToolCall(call, next) {
          yield* next(call)
          throw new RangeError('too much')
        },
      },
      passing('inside'),
    ],
    telemetry: { tracerProvider },
  })
  await agent.run('Go')
  const wraps = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('middleware'))
  expect(Object.fromEntries(wraps.map(({ attributes, name }) => [name, attributes['error.type']]))).toEqual({
    'middleware outside wrapToolCall': 'RangeError',
    'middleware faulty wrapToolCall': 'RangeError',
    'middleware inside wrapToolCall': undefined,
  })
})
