import { call, collect, end, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type SpanNode, spanTree } from '@meanwhile/harness/otlp'
import { type Attributes, context, type TracerProvider as Provider, type Span, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { early, startingEarly } from '../../test/early-calls.ts'
import { pause } from '../../test/tools.ts'
import { createAgent, type Middleware, runTool, type Tool, tool } from '../index.ts'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
})

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

/** A middleware with one member that changes nothing. */
const guard: Middleware = { name: 'guard', afterModel: () => undefined }

async function spansOf(work: () => Promise<unknown>): Promise<ReadableSpan[]> {
  exporter.reset()
  const done = work().catch(() => undefined)
  await vi.runAllTimersAsync()
  await done
  return exporter.getFinishedSpans()
}

const named = (spans: readonly ReadableSpan[], name: string) => {
  const span = spans.find((span) => span.name === name)
  if (!span) throw new Error(`no span ${name} among ${spans.map(({ name }) => name).join(', ')}`)
  return span
}
const ms = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6

const weatherThenTime = respond(
  say('Let me see.', { deltas: 1 }),
  call('weather', {}, { deltas: 1 }),
  call('time', {}, { deltas: 1 }),
  say('One moment, please.'),
)

/** At 100 ms the first token, then one every 100 ms: weather is sealed at 300, time at 500, the stream ends at 800. */
const trip = (middleware: Middleware[]) =>
  createAgent({
    name: 'trip_planner',
    model: scriptedModel([weatherThenTime, respond(say('Sunny.'))], { pace: { firstToken: 100, betweenTokens: 100 } }),
    tools: [pause('weather', 200), pause('time', 900)],
    middleware,
    telemetry: { tracerProvider },
  })

test('a run is one tree: model calls inside their wraps, tools next to them, hooks inside the run', async () => {
  const pass: Middleware = {
    name: 'pass',
    wrapModel: (request, next) => next(request),
    wrapToolCall: (call, next) => next(call),
  }
  const spans = await spansOf(() => trip([guard, pass, early]).run('Where to?'))

  expect(spanTree(spans)).toEqual([
    {
      name: 'invoke_agent trip_planner',
      children: [
        {
          name: 'middleware pass wrapModel',
          children: [{ name: 'middleware early wrapModel', children: [{ name: 'chat scripted-1' }] }],
        },
        { name: 'middleware pass wrapToolCall', children: [{ name: 'execute_tool weather' }] },
        { name: 'middleware pass wrapToolCall', children: [{ name: 'execute_tool time' }] },
        { name: 'middleware guard afterModel' },
        {
          name: 'middleware pass wrapModel',
          children: [{ name: 'middleware early wrapModel', children: [{ name: 'chat scripted-1' }] }],
        },
        { name: 'middleware guard afterModel' },
      ],
    },
  ])
})

/** Without the order in which things happened. */
const sorted = (tree: readonly SpanNode[]): SpanNode[] =>
  tree
    .map(({ children, ...node }) => ({ ...node, ...(children && { children: sorted(children) }) }))
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))

test('the tree is the same with and without early calls', async () => {
  const pass: Middleware = { name: 'pass', wrapToolCall: (call, next) => next(call) }
  const off: Middleware = { name: 'early', wrapModel: (request, next) => next(request) }
  const mixed = startingEarly({ only: ({ name }) => name === 'time' })
  const treeOf = async (first: Middleware) =>
    sorted(spanTree(await spansOf(() => trip([guard, pass, first]).run('Where to?'))))
  const waiting = await treeOf(off)
  expect(waiting[0]?.children).toHaveLength(6)
  expect(await treeOf(early)).toEqual(waiting)
  expect(await treeOf(mixed)).toEqual(waiting)
})

test('an early tool span shows how early: mode, evidence, lag, head start, and a link to the model call that requested it (H28)', async () => {
  const spans = await spansOf(() => trip([early]).run('Where to?'))
  const chat = named(spans, 'chat scripted-1')
  const weather = named(spans, 'execute_tool weather')

  expect(weather.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'weather',
    'gen_ai.tool.type': 'function',
    'gen_ai.agent.name': 'trip_planner',
    'meanwhile.step.index': 1,
    'meanwhile.attempt': 1,
    'meanwhile.tool.effect': 'read',
    'meanwhile.dispatch.mode': 'early',
    'meanwhile.dispatch.lag': 0,
    'meanwhile.dispatch.queued': 0,
    'meanwhile.head_start': 0.5,
    'meanwhile.outcome': 'committed',
  })
  expect(weather.links.map(({ context }) => context.spanId)).toEqual([chat.spanContext().spanId])
  expect(ms(weather.duration)).toBeCloseTo(200, 3)
  expect(ms(named(spans, 'execute_tool time').duration)).toBeCloseTo(900, 3)
})

test('a chat span shows the request and the response, and lasts as long as its stream', async () => {
  const spans = await spansOf(() => trip([]).run('Where to?', { conversationId: 'c-7' }))
  const chat = named(spans, 'chat scripted-1')

  expect(chat.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'scripted-1',
    'gen_ai.request.stream': true,
    'gen_ai.conversation.id': 'c-7',
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'gen_ai.response.time_to_first_chunk': 0.1,
    'meanwhile.step.index': 1,
    'meanwhile.attempt': 1,
    'meanwhile.tool_calls.early': 0,
    'meanwhile.outcome': 'completed',
  })
  expect(ms(chat.duration)).toBeCloseTo(800, 3)
})

test('the run span sums up: outcome, steps, early calls, tokens and the order of its middleware', async () => {
  const spans = await spansOf(() => trip([guard, early]).run('Where to?'))
  expect(named(spans, 'invoke_agent trip_planner').attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'trip_planner',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'scripted-1',
    'gen_ai.response.finish_reasons': ['stop'],
    'meanwhile.run.id': expect.any(String),
    'meanwhile.run.resumed': false,
    'meanwhile.middleware.order': ['guard', 'early'],
    'meanwhile.outcome': 'completed',
    'meanwhile.step.count': 2,
    'meanwhile.tool_calls.early': 2,
    'meanwhile.tool_calls.committed': 2,
    'meanwhile.tool_calls.discarded': 0,
    'meanwhile.tool_calls.reused': 0,
    'meanwhile.tool_calls.unknown': 0,
  })
})

test('a span of middleware lasts as long as the middleware, parts of a millisecond included', async () => {
  const takes = (milliseconds: number) => void vi.advanceTimersByTime(milliseconds)
  const slow: Middleware = {
    name: 'slow',
    afterModel: () => takes(0.4),
    async *wrapAgent(setup, next) {
      takes(0.4)
      return yield* next(setup)
    },
  }
  const model = scriptedModel([respond(say('Hi.'))])
  const spans = await spansOf(() => createAgent({ model, middleware: [slow], telemetry: { tracerProvider } }).run('Hi'))
  expect(ms(named(spans, 'middleware slow afterModel').duration)).toBeCloseTo(0.4, 3)
  expect(ms(named(spans, 'middleware slow wrapAgent').duration)).toBeCloseTo(0.8, 3)
})

test('token counts are only on the chat spans, unless an option also adds them up on the run’s', async () => {
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 3, reasoningTokens: 2 }
  const usageOf = async (usageOnRun?: boolean) => {
    const model = scriptedModel([respond(call('weather'), end({ usage })), respond(say('Sunny.'), end({ usage }))])
    const telemetry = { tracerProvider, ...(usageOnRun !== undefined && { usageOnRun }) }
    const spans = await spansOf(() => createAgent({ model, tools: [pause('weather', 1)], telemetry }).run('Go'))
    const told = spans
      .filter(({ name }) => !name.startsWith('execute_tool'))
      .map(({ attributes }) =>
        Object.entries(attributes).flatMap(([name, value]) => (name.startsWith('gen_ai.usage') ? [value] : [])),
      )
    return told
  }
  const once = [10, 5, 4, 3, 2]
  expect(await usageOf(true)).toEqual([once, once, [20, 10, 8, 6, 4]])
  expect(await usageOf(false)).toEqual([once, once, []])
  expect(await usageOf()).toEqual([once, once, []])
})

test('a side call before the first step has no step (N29)', async () => {
  const model = scriptedModel([respond(say('A plan.')), respond(say('Done.'))])
  const asks: Middleware = {
    name: 'asks',
    async beforeAgent(_, run) {
      await run.callModel({ messages: [{ role: 'user', content: 'What first?' }] })
    },
  }
  const spans = await spansOf(() => createAgent({ model, middleware: [asks], telemetry: { tracerProvider } }).run('Go'))
  const places = { attributes: ['meanwhile.step.index', 'meanwhile.attempt'] }
  expect(spanTree(spans, places)).toEqual([
    {
      name: 'invoke_agent',
      children: [
        {
          name: 'middleware asks beforeAgent',
          children: [{ name: 'chat scripted-1', attributes: { 'meanwhile.attempt': 1 } }],
        },
        { name: 'chat scripted-1', attributes: { 'meanwhile.step.index': 1, 'meanwhile.attempt': 1 } },
      ],
    },
  ])
})

test('the work of a background call has a link to the model call that requested it', async () => {
  const model = scriptedModel([respond(call('weather')), respond(say('Done.')), respond(say('Done.'))])
  const tools = [{ ...pause('weather', 200), background: true }]
  const spans = await spansOf(() => createAgent({ model, tools, telemetry: { tracerProvider } }).run('Go'))
  const chat = named(spans, 'chat scripted-1').spanContext().spanId
  expect(named(spans, 'execute_tool weather').links.map(({ context }) => context.spanId)).toEqual([chat])
})

test('a tool that throws marks only its own span, and the exception is recorded once without its message', async () => {
  const secret = 'canary-4711'
  const broken = tool({
    name: 'broken',
    description: 'breaks',
    input: z.object({}),
    execute: () => {
      throw new RangeError(secret)
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('broken', { note: secret })), respond(say(secret))]),
    tools: [broken as Tool],
    middleware: [{ name: 'pass', wrapToolCall: (call, next) => next(call) }],
    telemetry: { tracerProvider },
  })
  const spans = await spansOf(() => agent.run(secret))
  const failed = named(spans, 'execute_tool broken')

  expect(failed.status.code).toBe(2)
  expect(failed.attributes).toMatchObject({ 'error.type': 'RangeError', 'meanwhile.outcome': 'failed' })
  expect(named(spans, 'invoke_agent').status.code).toBe(0)
  expect(spans.flatMap(({ events }) => events).map(({ attributes }) => attributes?.['exception.type'])).toEqual([
    'RangeError',
  ])
  const told = spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
  expect(JSON.stringify(told)).not.toContain(secret)
})

test('one error object thrown in two runs is recorded once in the trace of each', async () => {
  const always = new RangeError('always this one')
  const broken = tool({
    name: 'broken',
    description: 'breaks',
    input: z.object({}),
    execute: () => {
      throw always
    },
  })
  const exceptionsOf = async () => {
    const script = scriptedModel([respond(call('broken', {})), respond(say('Done.'))])
    const agent = createAgent({ model: script, tools: [broken as Tool], telemetry: { tracerProvider } })
    const spans = await spansOf(() => agent.run('Go.'))
    return spans.flatMap(({ name, events }) => events.map(() => name))
  }
  expect(await exceptionsOf()).toEqual(['execute_tool broken'])
  expect(await exceptionsOf()).toEqual(['execute_tool broken'])
})

test('a retried model call has a span for each attempt, inside the wrap that retried', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(fail({ status: 503 })), respond(say('Hello.'))]),
    middleware: [askAgain],
    telemetry: { tracerProvider },
  })
  const spans = await spansOf(() => agent.run('Hi'))

  expect(
    spanTree(spans, { attributes: ['meanwhile.attempt', 'meanwhile.middleware.next_calls', 'error.type'] }),
  ).toEqual([
    {
      name: 'invoke_agent',
      children: [
        {
          name: 'middleware again wrapModel',
          attributes: { 'meanwhile.middleware.next_calls': 2 },
          children: [
            { name: 'chat scripted-1', attributes: { 'meanwhile.attempt': 1, 'error.type': '503' }, error: '' },
            { name: 'chat scripted-1', attributes: { 'meanwhile.attempt': 2 } },
          ],
        },
      ],
    },
  ])
})

test('the run is a child of the span that is active when it is called', async () => {
  const tracer = tracerProvider.getTracer('app')
  const outer = tracer.startSpan('request')
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]), telemetry: { tracerProvider } })
  const spans = await spansOf(async () => {
    await context.with(trace.setSpan(context.active(), outer), () => agent.run('Hi'))
    outer.end()
  })
  expect(spanTree(spans)).toEqual([
    { name: 'request', children: [{ name: 'invoke_agent', children: [{ name: 'chat scripted-1' }] }] },
  ])
})

const stopping = (more: Omit<Partial<Tool>, 'needs'>) =>
  tool({
    name: 'slow',
    description: 'slow',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ...more,
  }) as Tool

test('a stand-alone tool has one span, a child of the active span, that has no step (I11)', async () => {
  const tracer = tracerProvider.getTracer('test')
  const spans = await spansOf(() =>
    tracer.startActiveSpan('request', async (span) => {
      await runTool(pause('weather', 200), {}, { telemetry: { tracerProvider } })
      await runTool(stopping({ timeout: 100 }), {}, { telemetry: { tracerProvider } }).result.catch(() => undefined)
      span.end()
    }),
  )
  expect(spanTree(spans)).toMatchObject([
    { name: 'request', children: [{ name: 'execute_tool weather' }, { name: 'execute_tool slow' }] },
  ])
  const { attributes, duration } = named(spans, 'execute_tool weather')
  expect(ms(duration)).toBe(200)
  expect(Object.keys(attributes).filter((name) => /step|dispatch.mode|evidence|agent/.test(name))).toEqual([])
  expect(attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool', 'meanwhile.outcome': 'committed' })
  expect(named(spans, 'execute_tool slow').attributes).toMatchObject({ 'error.type': 'timeout' })
})

test('labels are read when a run begins, and those that cannot be read are left out', async () => {
  const labelled = (attributes: Attributes) =>
    createAgent({ model: scriptedModel([respond(say('Sunny.'))]), telemetry: { tracerProvider, attributes } })
  let tenant = 'early'
  const agent = labelled({
    get tenant() {
      return tenant
    },
  })
  tenant = 'late'
  const broken = labelled({
    get tenant(): string {
      throw new Error('no tenant today')
    },
  })
  const spans = await spansOf(async () => {
    await agent.run('Where to?')
    expect((await broken.run('Where to?')).text).toBe('Sunny.')
  })
  const runs = spans.filter(({ name }) => name === 'invoke_agent')
  expect(runs.map(({ attributes }) => [attributes.tenant, attributes['meanwhile.outcome']])).toEqual([
    ['late', 'completed'],
    [undefined, 'completed'],
  ])
})

test('the version on the scope is the one of the package', async () => {
  const spans = await spansOf(() => trip([]).run('Go'))
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  expect(spans[0]?.instrumentationScope).toMatchObject({ name: manifest.name, version: manifest.version })
})

const no = (): never => {
  throw new Error('no spans today')
}
const span = {
  spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }),
  isRecording: () => true,
  setAttribute: no,
  setAttributes: no,
  addEvent: no,
  addLink: no,
  addLinks: no,
  setStatus: no,
  updateName: no,
  recordException: no,
  end: no,
} satisfies Span
const providerOf = (startSpan: () => Span): Provider => ({ getTracer: () => ({ startSpan, startActiveSpan: no }) })

test.each<[string, Provider]>([
  ['that returns no tracer', { getTracer: no }],
  ['whose tracer throws', providerOf(no)],
  ['whose tracer returns no span', providerOf(() => undefined as never)],
  ['whose spans accept nothing', providerOf(() => span)],
  ['whose spans lack isRecording', providerOf(() => ({ ...span, isRecording: no }))],
  ['whose spans have no context', providerOf(() => ({ ...span, spanContext: no }))],
])('a provider %s affects neither run nor reader nor tool (MA15)', async (_, provider) => {
  const model = scriptedModel([respond(call('weather'), call('broken')), respond(say('Sunny.'))])
  const broken = tool({ name: 'broken', description: 'b', input: z.object({}), execute: no })
  const agent = createAgent({
    model,
    tools: [pause('weather', 10), broken],
    middleware: [guard, early],
    telemetry: { tracerProvider: provider, captureContent: true },
  })
  const reading = collect(agent.stream('Where to?'))
  await vi.runAllTimersAsync()
  const { events, result } = await reading
  expect([result?.text, events.at(-1)?.type]).toEqual(['Sunny.', 'run-end'])
  const alone = runTool(pause('slow', 10), {}, { telemetry: { tracerProvider: provider } })
  await vi.runAllTimersAsync()
  await expect(alone.result).resolves.toBeUndefined()
  await expect(agent.run([])).rejects.toThrow()
})
