import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { early, withdrawing } from '../../test/early-calls.ts'
import { echo, toolOf } from '../../test/tools.ts'
import {
  AgentError,
  type AgentState,
  type AssistantMessage,
  createAgent,
  type Flow,
  type Message,
  type Middleware,
  MiddlewareError,
  type Model,
  ModelError,
  type ModelFlow,
  type ModelRequest,
  map,
  RunAbortedError,
  settle,
  ToolBusyError,
  ToolInputError,
  type ToolMessage,
  ToolTimeoutError,
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

/** The error of a run of two steps with this middleware. */
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
  'a message of a %s with an invalid part is a MiddlewareError that explains what a part is (C17)',
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

test('the error for an invalid verdict lists the two valid ones (C9)', async () => {
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
  'an error that %s throws itself %s ends the run as MiddlewareError (C17)',
  async ([hook, , wraps]) => {
    const error = await failureOf(wraps)
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'faulty', hook })
    expect(error).toHaveProperty('cause', oops)
  },
)

const wrapHooks = ['wrapAgent', 'wrapModel', 'wrapToolCall'] as const

test.for(wrapHooks)('%s that returns no flow is an error that asks for an async generator (C17)', async (hook) => {
  const lost = async () => Promise.reject(new Error('lost'))
  for (const give of [async () => answer('mine'), lost, () => undefined, () => answer('mine')]) {
    const error = await failureOf({ [hook]: give })
    const message = `middleware faulty, ${hook}: the wrap did not return a flow; make it \`async *${hook}(…)\``
    expect(error).toMatchObject({ name: 'MiddlewareError', message })
  }
})

/** Wraps everything and keeps what it receives. */
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

test('the error of a model passes all wraps as the same object (C17)', async () => {
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

test.for(hooks)(
  'a throw of %s that results from an abort is the abort, and blames no middleware (C17)',
  async (hook) => {
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
  },
)

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

test('a next called after its wrap has ended is a MiddlewareError, and requests nothing (C16)', async () => {
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

test('a flow of next that is first pulled after its wrap has ended requests nothing (C15, C16)', async () => {
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

test('an error that wrapToolCall throws fails its call, without stack, and the run goes on (C18)', async () => {
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

test('an error of a tool reaches wrapToolCall unchanged, to retry or replace (C18)', async () => {
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

test('the span of a wrapToolCall that threw names it and its failure; those outside it show it, those inside do not (C18)', async () => {
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

const JUNK: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['a number', 5],
  ['a text', 'junk'],
  ['a list', []],
  ['an empty object', {}],
]

/** A wrap must pass on a value; a hook that returns nothing keeps the previous one. */
const NOTHING: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['nothing but false', false],
]

const good: Middleware = {
  name: 'good',
  beforeAgent: (setup) => ({ ...setup, instructions: 'Be good.' }),
  async *wrapAgent(setup, next) {
    return yield* next({ ...setup, instructions: 'Be good.' })
  },
  async *wrapModel(request, next) {
    return yield* next({ ...request, instructions: 'Be good.' })
  },
  async *wrapToolCall(call, next) {
    return yield* next({ ...call })
  },
}

/** The same middleware outside and inside of a faulty one. */
const between = (faulty: Omit<Middleware, 'name'>): readonly Middleware[] => [
  { ...good, name: 'outside' },
  { name: 'faulty', ...faulty },
  { ...good, name: 'inside' },
]

/** The error of a run of two steps with these middleware, and what was requested by then. */
async function endOf(middleware: readonly Middleware[]) {
  const model = twoSteps()
  const { error, result } = await collect(createAgent({ model, tools: [echo], middleware }).stream('Go'))
  return { error, result, requests: model.requests.length }
}

test.for(JUNK)('%s from beforeAgent is the fault of that middleware, and of no other (P16, C17)', async ([, junk]) => {
  const { error, requests } = await endOf(between({ beforeAgent: () => junk as never }))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'beforeAgent' })
  expect(error).toMatchObject({ cause: { name: 'ConfigError' } })
  expect(requests).toBe(0)
})

test('if the set-ups of two beforeAgents do not fit together, the later one is named (P16, A3)', async () => {
  const adds = (name: string): Middleware => ({
    name,
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, { ...echo, name: 'added' }] }),
  })
  const { error } = await endOf([adds('first'), adds('second'), { ...good }])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'second', hook: 'beforeAgent' })
  expect((error as Error).message).toMatch('"added"')
})

const handing = wrapHooks.flatMap((hook) => [...JUNK, ...NOTHING].map(([what, junk]) => [hook, what, junk] as const))

test.for(handing)('a value that %s passes to next, when it is %s, is its fault (P16)', async ([hook, , junk]) => {
  const faulty = { [hook]: (_: unknown, next: (given: unknown) => Flow<never, unknown>) => next(junk) }
  const { error, requests } = await endOf(between(faulty))
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'faulty', hook })
  expect(requests).toBe(hook === 'wrapToolCall' ? 1 : 0)
})

const members = [
  ['model', { provider: 'p', id: 'i' }],
  ['instructions', 5],
  ['messages', [{ role: 'user', content: [null] }]],
  ['messages', 'Go'],
  ['tools', ['echo']],
  ['toolChoice', 5],
  ['output', 'text'],
  ['settings', null],
  ['inputLimits', undefined],
  ['takenIds', ['a']],
  ['clientRetries', 'twice'],
  ['signal', undefined],
] as const

test.for(members)(
  'a request whose %s is %j is the fault of the wrapModel that passes it on (P16)',
  async ([member, junk]) => {
    const faulty: Omit<Middleware, 'name'> = {
      wrapModel: (request, next) => next({ ...request, [member]: junk }),
    }
    const { error, requests } = await endOf(between(faulty))
    expect(error).toMatchObject({
      name: 'MiddlewareError',
      middleware: 'faulty',
      hook: 'wrapModel',
      message: expect.stringContaining(`the request has no valid ${member}`),
    })
    expect(requests).toBe(0)
  },
)

test('a wrap that catches what next throws may pass on something better (P16)', async () => {
  const careful: Middleware = {
    name: 'careful',
    async *wrapModel(request, next) {
      try {
        return yield* next({ ...request, messages: undefined as never })
      } catch {
        return yield* next(request)
      }
    },
  }
  expect((await endOf([careful])).result?.text).toBe('done')
})

test('an invalid request for a side call is the fault of the hook that makes it, not of the model (P16, N29)', async () => {
  for (const request of [
    undefined,
    {},
    { messages: 'Hi' },
    { messages: [{ role: 'user', content: 'Hi' }], model: 5 },
  ]) {
    const { error, requests } = await endOf([
      { name: 'asks', beforeModel: async (_, run) => void (await run.callModel(request as never)) },
    ])
    expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'asks', hook: 'beforeModel' })
    expect(requests).toBe(0)
  }
})

const wrongParts = { role: 'assistant', content: [null], finishReason: 'stop' }

test.for([
  ['wrapModel', wrongParts],
  ['wrapToolCall', { role: 'tool', callId: 'x', name: 'echo', content: [{ type: 'text' }] }],
  ['wrapAgent', { status: 'completed', message: wrongParts, text: '', messages: [] }],
  ['wrapAgent', { status: 'completed', message: answer('Hi.'), text: 'Hi.', messages: 'all' }],
  ['wrapAgent', { status: 'done', message: answer('Hi.'), text: 'Hi.', messages: [] }],
] as const)('a %s that returns an invalid value is a MiddlewareError (P16, C16)', async ([hook, junk]) => {
  const faulty = {
    async *[hook](given: never, next: (given: never) => Flow<never, unknown>) {
      yield* next(given)
      return junk
    },
  }
  const { error } = await endOf(between(faulty))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
})

test.for(wrapHooks.flatMap((hook) => [null, undefined, 5, 'text'].map((junk) => [hook, junk] as const)))(
  'a %s that yields %j is a MiddlewareError (P16)',
  async ([hook, junk]) => {
    const faulty = {
      async *[hook](given: never, next: (given: never) => Flow<unknown, unknown>): Flow<unknown, unknown> {
        yield junk
        return yield* next(given)
      },
    }
    const { error } = await endOf(between(faulty))
    expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
  },
)

const junkEvents = [
  {},
  { type: 'nonsense' },
  { type: '__proto__' },
  { type: 'text-delta' },
  { type: 'text-delta', delta: 5 },
  { type: 'tool-call', call: 5 },
  { type: 'attempt-failed' },
  { type: 'run-end' },
  { type: 'step-end' },
  { type: 'custom' },
  { messages: 5 },
]

/** Empty progress is also progress. */
const isProgress = (event: object) => !('type' in event)

test.for(
  wrapHooks.flatMap((hook) =>
    junkEvents.flatMap((event) => (hook === 'wrapToolCall' && isProgress(event) ? [] : [[hook, event] as const])),
  ),
)('a %s that yields %j ends the run, and the reader does not receive it (P16)', async ([hook, event]) => {
  const faulty: Middleware = {
    name: 'faulty',
    async *[hook](given: never, next: (given: never) => Flow<unknown, unknown>): Flow<unknown, unknown> {
      yield { ...event, junk: true }
      return yield* next(given)
    },
  }
  const agent = createAgent({
    model: twoSteps(),
    tools: [echo],
    middleware: [good, faulty, { ...good, name: 'inside' }],
  })
  const { error, events } = await collect(agent.stream('Go'))
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook })
  expect(events).not.toContainEqual(expect.objectContaining({ junk: true }))
})

test('the error describes what is wrong with an event (P16)', async () => {
  const said = async (event: object) => {
    const error = await failureOf({
      async *wrapModel(request, next) {
        yield event as never
        return yield* next(request)
      },
    })
    return error instanceof Error && error.message
  }
  const begin = 'middleware faulty, wrapModel: the wrap yielded an event'
  expect(await said({ type: 'text-delta', delta: 5 })).toBe(
    `${begin} of type text-delta whose delta is missing or wrong`,
  )
  expect(await said({ type: 'run-end' })).toBe(`${begin} of type run-end, which it may not yield`)
  expect(await said({ delta: 'a' })).toBe(`${begin} without a type`)
})

test('an event whose delta throws when it is read is the fault of the wrap that yields it (P16)', async () => {
  const hostile = {
    type: 'text-delta',
    get delta() {
      throw new Error('hostile')
    },
  }
  const faulty: Middleware = {
    name: 'faulty',
    async *wrapModel(request, next) {
      yield hostile as never
      return yield* next(request)
    },
  }
  const { error } = await endOf([{ ...good, name: 'outside' }, faulty, good])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'wrapModel' })
})

test('an invalid event from inside is not the fault of the wrap that passes it on (P16)', async () => {
  const model: Model = {
    provider: 'p',
    id: 'i',
    async *stream() {
      yield { type: 'text-delta' } as never
      return answer('Hi.')
    },
  }
  expect((await collect(createAgent({ model, middleware: [good] }).stream('Go'))).error).toMatchObject({
    name: 'ModelError',
    code: 'invalid_chunk',
    message: 'the model yielded an event of type text-delta whose delta is missing or wrong',
  })
  const typed = toolOf('echo', async function* () {
    yield { type: 'status', message: 'half' }
    return 'done'
  })
  const unnamed: Middleware = { name: 'unnamed', beforeModel: (_, run) => run.emit({ data: 1 } as never) }
  const agent = createAgent({ model: twoSteps(), tools: [typed], middleware: [good, unnamed] })
  expect((await agent.run('Go')).text).toBe('done')
})

test('an invalid call that a wrapModel yields is its fault (P16)', async () => {
  for (const type of ['tool-call', 'tool-input-closed'])
    for (const event of [{ type }, { type, call: null }]) {
      const faulty: Omit<Middleware, 'name'> = {
        async *wrapModel(request, next) {
          yield event as never
          return yield* next(request)
        },
      }
      const { error } = await endOf(between(faulty))
      expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'faulty', hook: 'wrapModel' })
    }
})

/** The texts of a run's warnings, all of which come from core. */
async function warningsOf(middleware: readonly Middleware[], execute: () => unknown = () => 'fine', calls = 1) {
  const asked = Array.from({ length: calls }, (_, n) => call('work', {}, { id: `c${n}` }))
  const work = toolOf('work', execute)
  const agent = createAgent({
    model: scriptedModel([respond(...asked), respond(say('done'))]),
    tools: [work],
    middleware,
  })
  const { result, events } = await collect(agent.stream('Go'))
  const warnings = result?.warnings ?? []
  expect(events.flatMap((event) => (event.type === 'warning' ? [event] : []))).toMatchObject(warnings)
  expect(warnings.every(({ code, source }) => code === 'wrap-threw' && source === 'core')).toBe(true)
  const results = result?.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
  return { results, warnings: warnings.map(({ message }) => message) }
}

const throwing = (
  name: string,
  when: 'before' | 'after' | 'at once',
  error: unknown = new TypeError('no such key'),
): Middleware => ({
  name,
  wrapToolCall(call, next) {
    if (when === 'at once') throw error
    return (async function* () {
      if (when === 'before') throw error
      yield* next(call)
      throw error
    })()
  },
})

const blamed = 'middleware faulty threw in wrapToolCall, so call c0 of work failed: no such key'

test.for(['before', 'after', 'at once'] as const)(
  'the model reads an error that a wrapToolCall throws %s as a failure of the tool; a warning names the middleware (P16, C18)',
  async (when) => {
    const passing = { ...good, name: 'passing' }
    expect(await warningsOf([passing, throwing('faulty', when), good])).toEqual({
      results: ['no such key'],
      warnings: [blamed],
    })
  },
)

test('a throw that is not an Error is reported in the same way (P16, C18)', async () => {
  for (const thrown of ['no such key', { reason: 1 }, undefined, null]) {
    const { warnings } = await warningsOf([throwing('faulty', 'after', thrown)])
    expect(warnings).toEqual([
      expect.stringMatching(/^middleware faulty threw in wrapToolCall, so call c0 of work failed: ./),
    ])
  }
})

const fails = () => {
  throw new RangeError('out of paper')
}

const replacing = (name: string, replace: (error: unknown) => unknown): Middleware => ({
  name,
  async *wrapToolCall(call, next) {
    try {
      return yield* next(call)
    } catch (error) {
      throw replace(error)
    }
  },
})

test('an error of a tool is its own failure, even if a wrap passes it on or rewords it (P16)', async () => {
  const ways = [
    (error: unknown) => error,
    (error: unknown) => new Error('it failed', { cause: error }),
    (error: unknown) => new Error('it failed', { cause: new Error('inside', { cause: error }) }),
    () => new RangeError('out of ***'),
  ]
  for (const way of ways) {
    const { warnings } = await warningsOf([{ ...good, name: 'outer' }, replacing('says', way), good], fails)
    expect(warnings).toEqual([])
  }
  for (const thrown of [undefined, null, 'a text', { reason: 1 }] as readonly unknown[])
    expect((await warningsOf([good], () => Promise.reject(thrown as Error))).warnings).toEqual([])
})

test('if one of two parallel executions fails, that stays a failure of the tool, although the other succeeded later (P16)', async () => {
  let executed = 0
  const both: Middleware = {
    name: 'both',
    async *wrapToolCall(call, next) {
      const [failed] = await Promise.allSettled([settle(next(call)), settle(next(call))])
      if (failed.status === 'fulfilled') return failed.value
      throw failed.reason
    },
  }
  const execute = async () => (executed++ === 0 ? fails() : 'fine')
  expect(await warningsOf([both], execute)).toEqual({ results: ['out of paper'], warnings: [] })
})

test('a wrap that throws after its second try succeeded is named, not the tool that failed at first (P16)', async () => {
  let executed = 0
  const faulty: Middleware = {
    name: 'faulty',
    async *wrapToolCall(call, next) {
      await settle(next(call)).catch(() => undefined)
      yield* next(call)
      throw new RangeError('no such key')
    },
  }
  const execute = async () => (executed++ === 0 ? fails() : 'fine')
  expect(await warningsOf([faulty], execute)).toEqual({ results: ['no such key'], warnings: [blamed] })
})

test('a wrap that fails while it reads an error of a tool is named (P16)', async () => {
  const breaks = replacing('faulty', () => new TypeError('no such key'))
  expect(await warningsOf([breaks], fails)).toEqual({ results: ['no such key'], warnings: [blamed] })
})

test('if outer wraps pass on or reword an error, only the one in which it began is named, once (P16)', async () => {
  const retries: Middleware = {
    name: 'retries',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  const counts = replacing('counts', (error) => new Error('tried twice', { cause: error }))
  const { results, warnings } = await warningsOf([counts, retries, throwing('faulty', 'after')])
  expect(results).toEqual(['tried twice'])
  expect(warnings).toEqual(['middleware faulty threw in wrapToolCall, so call c0 of work failed: tried twice'])
})

test('an error that an outer wrap handles is not a warning (P16)', async () => {
  let tries = 0
  const flaky: Middleware = {
    name: 'flaky',
    async *wrapToolCall(call, next) {
      if (++tries === 1) throw new TypeError('not now')
      return yield* next(call)
    },
  }
  const retries: Middleware = {
    name: 'retries',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  expect(await warningsOf([retries, flaky])).toEqual({ results: ['fine'], warnings: [] })
})

test('an error that reports what happened to the call blames no wrap (P16)', async () => {
  const errors = [new ToolTimeoutError('work', 5), new ToolInputError('work', []), new ToolBusyError('work', 1)]
  for (const error of errors) expect((await warningsOf([throwing('judge', 'before', error)])).warnings).toEqual([])
})

test('a wrap that warns about its error itself is not reported again (P16, B15)', async () => {
  const warns: Middleware = {
    name: 'warns',
    async *wrapToolCall(call, next, run) {
      run.warn({ code: 'own', message: `of ${call.id}` })
      if (call.id === 'c0') throw new Error('no')
      return yield* next(call)
    },
  }
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' }, { id: 'c0' })), respond(say('done'))]),
    tools: [echo],
    middleware: [warns],
  })
  expect((await agent.run('Go')).warnings).toEqual([{ code: 'own', message: 'of c0', source: 'warns' }])
})

test('each of several calls that a wrap fails is reported (P16)', async () => {
  const { warnings } = await warningsOf([throwing('faulty', 'before')], undefined, 3)
  expect(warnings.map((warning) => warning.match(/call c\d/)?.[0])).toEqual(['call c0', 'call c1', 'call c2'])
})

test('a call that started early and is discarded causes no warning, because a run without early calls does not make it (P16, H16)', async () => {
  const asked = respond(call('echo', { text: 'a' }, { id: 'c0' }), wait(5), say('.'))
  for (const isKept of [true, false]) {
    const agent = createAgent({
      model: scriptedModel([asked, respond(say('done'))]),
      tools: [echo],
      middleware: [...(isKept ? [] : [withdrawing()]), early, throwing('faulty', 'before')],
    })
    expect((await agent.run('Go')).warnings.map(({ code }) => code)).toEqual(isKept ? ['wrap-threw'] : [])
  }
})

test.each(['zz', undefined])(
  'a wrapModel that returns the finish reason %s is named in the error (P16, P18)',
  async (finishReason) => {
    const middleware: Middleware = {
      name: 'bad',
      async *wrapModel(request, next) {
        return { ...(yield* next(request)), finishReason: finishReason as 'stop' }
      },
    }
    const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [middleware] })
    await expect(agent.run('Go')).rejects.toMatchObject({
      name: 'MiddlewareError',
      message: 'middleware bad, wrapModel: the message has no valid finishReason',
    })
  },
)

function holes(): Message[] {
  const messages: Message[] = []
  messages[1] = { role: 'user', content: 'Hm?' }
  return messages
}

test.each<[string, Omit<Middleware, 'name'>]>([
  ['beforeModel', { beforeModel: () => ({ messages: holes() }) }],
  ['beforeFinalAnswer', { beforeFinalAnswer: () => ({ accept: false, feedback: holes() }) }],
  ['wrapModel', { wrapModel: (request, next) => next({ ...request, messages: holes() }) }],
])('a list of messages with holes from %s is its fault (P16)', async (hook, more) => {
  const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [{ name: 'bad', ...more }] })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'MiddlewareError', middleware: 'bad', hook })
})

test('a tool that makes a call with an input that is not JSON fails, and its run goes on (P16, A23)', async () => {
  const makes = toolOf('makes', ({ run }) => run?.callTool({ type: 'tool-call', id: 'in', name: 'echo', input: 5n }))
  const model = scriptedModel([respond(call('makes', {})), respond(say('done'))])
  const { text } = await createAgent({ model, tools: [makes, echo] }).run('Go')
  expect(text).toBe('done')
})
