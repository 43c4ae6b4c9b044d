import { call, collect, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  type AgentState,
  ConfigError,
  createAgent,
  type Middleware,
  MiddlewareError,
  map,
  settle,
  type ToolMessage,
  tool,
  type Verdict,
} from '../index.ts'

// What wrong user code, telemetry and options must not do to a run.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const slow = tool({
  name: 'slow',
  description: 's',
  input: z.object({}),
  execute: async (_, { signal }) => {
    await sleep(500)
    signal.throwIfAborted()
    return 'done'
  },
})

const methods = ['end', 'setAttributes', 'setStatus', 'recordException', 'addLink'] as const

test.for(methods)('spans whose %s throws leave result, events and error of their run unchanged', async (method) => {
  let throws = 0
  const throwing: SpanProcessor = {
    onStart(span) {
      if (!(method in span)) return
      Object.assign(span, {
        [method]() {
          throws++
          throw new Error('no telemetry today')
        },
      })
    },
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  }
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors: [throwing] }) }
  const broken: Middleware = {
    name: 'broken',
    async *wrapToolCall(call, next) {
      yield* next(call)
      throw new Error('never mind')
    },
  }
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next, run) {
      const early = () =>
        map(next(request), (event) => {
          if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
          return event
        })
      try {
        return yield* early()
      } catch {
        return yield* early()
      }
    },
  }
  const asked = call('slow')
  const model = scriptedModel([respond(asked, fail()), respond(asked), respond(say('Hi.'))])
  const agent = createAgent({ model, tools: [slow], middleware: [again, broken, plain('plain')], telemetry })
  const run = agent.stream('Hi')
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events } = await reading
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { text: 'Hi.' } })
  await expect(run.result).resolves.toMatchObject({ text: 'Hi.' })
  const { error } = await collect(createAgent({ model: scriptedModel([]), telemetry, maxSteps: 1 }).stream([]))
  expect(error).toMatchObject({ name: 'InputError' })
  expect(throws).toBeGreaterThan(0)
})

/** A `wrapAgent` that calls `next` twice, and pulls both flows in parallel. */
const twice: Middleware = {
  name: 'twice',
  async *wrapAgent(setup, next) {
    const [first] = await Promise.all([settle(next(setup)), settle(next(setup))])
    return first
  },
}
const plain = (name: string): Middleware => ({ name, wrapAgent: (setup, next) => next(setup) })

test.for([
  ['alone', [twice]],
  ['with others', [plain('outer'), twice, plain('inner')]],
] as const)(
  'steps that are requested while others are running are an error of the wrap that requested them, %s',
  async ([, middleware]) => {
    const model = scriptedModel([respond(say('one')), respond(say('two'))])
    const failed = createAgent({ model, middleware }).run('Go')
    const error: unknown = await failed.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(MiddlewareError)
    expect(error).toMatchObject({ middleware: 'twice', hook: 'wrapAgent' })
    expect((error as Error).message).toContain('before the steps of an earlier next had ended')
  },
)

test('steps may be requested again when the earlier ones have ended', async () => {
  const again: Middleware = {
    name: 'again',
    async *wrapAgent(setup, next) {
      yield* next(setup)
      return yield* next(setup)
    },
  }
  const model = scriptedModel([respond(say('one')), respond(say('two'))])
  expect(await createAgent({ model, middleware: [again] }).run('Go')).toMatchObject({ text: 'two', steps: 2 })
})

test('a call that a wrapAgent made itself before its next is available to it afterwards, also around other wraps', async () => {
  const results: ToolMessage[] = []
  const aside: Middleware = {
    name: 'aside',
    async *wrapAgent(setup, next, run) {
      const side = run.callTool({ type: 'tool-call', id: 'side', name: 'slow', input: {} })
      const result = yield* next(setup)
      results.push(await side)
      return result
    },
  }
  for (const middleware of [[aside], [aside, plain('inner')]]) {
    const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]), tools: [slow], middleware })
    const run = agent.run('Hi')
    await vi.runAllTimersAsync()
    expect(await run).not.toHaveProperty('abandoned')
  }
  expect(results).toMatchObject([{ output: 'done' }, { output: 'done' }])
})

test('a run that is aborted while it waits for a side call rejects (K1)', async () => {
  const aside: Middleware = {
    name: 'aside',
    beforeModel: (_, run) => {
      run.callTool({ type: 'tool-call', id: 'side', name: 'slow', input: {} }).catch(() => undefined)
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]), tools: [slow], middleware: [aside] })
  const controller = new AbortController()
  const run = agent.run('Hi', { signal: controller.signal })
  run.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(100)
  controller.abort('enough')
  await vi.runAllTimersAsync()
  await expect(run).rejects.toMatchObject({ name: 'AbortError', cause: 'enough' })
})

test('no further call gets a call id that beforeModel added (G10)', async () => {
  const bring: Middleware = {
    name: 'bring',
    beforeModel: ({ messages }) => ({
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: [{ type: 'tool-call', id: 'same', name: 'slow', input: {} }],
          finishReason: 'tool-calls',
        },
        { role: 'tool', callId: 'same', name: 'slow', content: [{ type: 'text', text: 'before' }] },
      ],
    }),
  }
  const model = scriptedModel([respond(call('slow', {}, { id: 'same' }))])
  const agent = createAgent({ model, tools: [{ ...slow, returnDirect: true }], middleware: [bring] })
  const run = agent.run('Go')
  await vi.runAllTimersAsync()
  expect((await run).message).toMatchObject({
    role: 'tool',
    callId: expect.not.stringMatching(/^same$/),
    output: 'done',
  })
})

test.for([
  ['grace', { grace: -1 }],
  ['grace', { grace: Number.NaN }],
  ['grace', { grace: null as never }],
  ['inputLimits.depth', { inputLimits: { depth: -1 } }],
  ['inputLimits.characters', { inputLimits: { characters: Number.NaN } }],
] as const)('an agent with a wrong %s is refused at construction: %j (A2)', ([option, options]) => {
  const make = () => createAgent({ model: scriptedModel([]), ...options })
  expect(make).toThrow(ConfigError)
  expect(make).toThrow(option)
})

test.for<readonly [option: string, options: unknown]>([
  ['signal', new AbortController().signal],
  ['options', 'now'],
  ['options', [1]],
])('a run whose options are wrong rejects with a ConfigError that names %s (A2)', async ([option, options]) => {
  const agent = createAgent({ model: scriptedModel([]) })
  await expect(agent.run('Hi', options as object)).rejects.toMatchObject({ name: 'ConfigError', option })
})

test('undefined options count as none (A2)', async () => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hello.'))]) })
  expect(await agent.run('Hi', JSON.parse('null'))).toMatchObject({ text: 'Hello.' })
})

test.for([-1, 0.5, Number.NaN])('a run with an eventBuffer of %d rejects with ConfigError', async (eventBuffer) => {
  const agent = createAgent({ model: scriptedModel([]) })
  await expect(agent.run('Hi', { eventBuffer })).rejects.toMatchObject({ name: 'ConfigError', option: 'eventBuffer' })
  const { error } = await collect(agent.stream('Hi', { eventBuffer }))
  expect(error).toBeInstanceOf(ConfigError)
})

test('a run with an invalid signal rejects with a ConfigError that names it (A2)', async () => {
  const agent = createAgent({ model: scriptedModel([]) })
  for (const signal of JSON.parse('["x", {}]') as AbortSignal[]) {
    await expect(agent.run('Hi', { signal })).rejects.toMatchObject({ name: 'ConfigError', option: 'signal' })
    expect((await collect(agent.stream('Hi', { signal }))).error).toMatchObject({ option: 'signal' })
  }
})

test.for([Number.POSITIVE_INFINITY, 1e12])(
  'with a grace of %d the run waits for an aborted tool until it has ended (K12)',
  async (grace) => {
    const controller = new AbortController()
    const model = scriptedModel([respond(call('slow'))])
    const start = Date.now()
    let ended = 0
    const run = createAgent({ model, tools: [slow], grace }).run('Go', { signal: controller.signal })
    const error = run.catch((thrown: unknown) => {
      ended = Date.now() - start
      return thrown
    })
    await vi.advanceTimersByTimeAsync(10)
    controller.abort()
    await vi.runAllTimersAsync()
    expect(await error).toMatchObject({ name: 'AbortError', abandoned: undefined })
    expect(ended).toBe(500)
  },
)

test.for(['beforeModel', 'afterModel'] as const)(
  'an invalid value that %s returns is an error of its middleware (C17)',
  async (hook) => {
    for (const rubbish of [
      'hi',
      {},
      { messages: undefined },
      { messages: 'hi' },
      { messages: ['hi'] },
      { messages: [null] },
    ]) {
      const odd: Middleware = { name: 'odd', [hook]: () => rubbish as AgentState }
      const failed = createAgent({ model: scriptedModel([respond(say('Hi.'))]), middleware: [odd] }).run('Hi')
      await expect(failed).rejects.toMatchObject({ name: 'MiddlewareError', middleware: 'odd', hook })
    }
  },
)

test('an invalid verdict is an error of its middleware (C17)', async () => {
  const verdicts = ['no', {}, { accept: 'yes' }, { accept: true, message: 'hi' }, { accept: false, feedback: [1] }]
  for (const verdict of verdicts) {
    const odd: Middleware = { name: 'odd', beforeFinalAnswer: () => verdict as Verdict }
    const failed = createAgent({ model: scriptedModel([respond(say('Hi.'))]), middleware: [odd] }).run('Hi')
    await expect(failed).rejects.toMatchObject({
      name: 'MiddlewareError',
      middleware: 'odd',
      hook: 'beforeFinalAnswer',
    })
  }
})

test('a rejection without feedback counts as one with empty feedback (E11)', async () => {
  let asked = 0
  const shy: Middleware = {
    name: 'shy',
    beforeFinalAnswer: () => (asked++ === 0 ? ({ accept: false } as Verdict) : undefined),
  }
  const model = scriptedModel([respond(say('No.')), respond(say('Yes.'))])
  const result = await createAgent({ model, middleware: [shy] }).run('Hi')
  expect(result).toMatchObject({ text: 'Yes.', warnings: [{ code: 'empty-feedback' }] })
})
