import { spanTree } from '@meanwhile/harness/otlp'
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createAgent, type Middleware, map, runTool, type Tool, tool } from '../index.ts'
import { call, collect, fail, respond, say, scriptedModel } from '../testing.ts'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const pause = (name: string, ms: number): Tool => {
  const waiting = tool({ name, description: name, input: z.object({}), effect: 'read', execute: () => after(ms) })
  return waiting as Tool
}

/** Starts each call as soon as it is sealed. */
const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

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

test('a run is one tree: model calls under their wraps, tools beside them, hooks under the run', async () => {
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

test('the tree has the same spans with and without early calls; only an early tool overlaps its model call', async () => {
  const outline = (spans: readonly ReadableSpan[]) =>
    spanTree(spans)[0]
      ?.children?.map(({ name }) => name)
      .sort()
  const off: Middleware = { name: 'early', wrapModel: (request, next) => next(request) }
  const eager = await spansOf(() => trip([early]).run('Where to?'))
  const waiting = await spansOf(() => trip([off]).run('Where to?'))

  expect(outline(eager)).toEqual(outline(waiting))
  expect(ms(named(eager, 'execute_tool weather').startTime)).toBeLessThan(ms(named(eager, 'chat scripted-1').endTime))
  expect(ms(named(waiting, 'execute_tool weather').startTime)).toBeGreaterThanOrEqual(
    ms(named(waiting, 'chat scripted-1').endTime),
  )
})

test('an early tool span says how early: mode, evidence, lag, head start, and a link to the model call that asked (H28)', async () => {
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

test('a chat span says what was asked and what came, and lasts as long as its stream', async () => {
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

test('the run span sums up: outcome, steps, early calls and the order of its middleware', async () => {
  const spans = await spansOf(() => trip([guard, early]).run('Where to?'))
  expect(named(spans, 'invoke_agent trip_planner').attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'trip_planner',
    'gen_ai.response.finish_reasons': ['stop'],
    'meanwhile.middleware.order': ['guard', 'early'],
    'meanwhile.outcome': 'completed',
    'meanwhile.step.count': 2,
    'meanwhile.tool_calls.early': 2,
    'meanwhile.tool_calls.committed': 2,
    'meanwhile.tool_calls.discarded': 0,
  })
})

test('a discarded call is no error: its span ends with its true time, its outcome and the reason', async () => {
  const withdraw: Middleware = {
    name: 'withdraw',
    afterModel: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'assistant' || last.finishReason !== 'tool-calls') return
      const content = last.content.filter((part) => part.type !== 'tool-call' || part.name !== 'weather')
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
  }
  const spans = await spansOf(() => trip([withdraw, early]).run('Where to?'))
  const weather = named(spans, 'execute_tool weather')

  expect(weather.attributes).toMatchObject({
    'meanwhile.outcome': 'discarded',
    'meanwhile.discard.reason': 'call_withdrawn',
  })
  expect(weather.attributes).not.toHaveProperty('meanwhile.head_start')
  expect(weather.status.code).toBe(0)
  expect(ms(weather.duration)).toBeCloseTo(200, 3)
})

test('a tool that goes on when the run is aborted leaves a span that says so', async () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 1_500)
  const agent = createAgent({
    model: scriptedModel([respond(call('deaf', {}))]),
    tools: [pause('deaf', 60_000)],
    telemetry: { tracerProvider },
  })
  const spans = await spansOf(() => agent.run('Go.', { signal: controller.signal }))
  const deaf = named(spans, 'execute_tool deaf')

  expect(deaf.attributes).toMatchObject({ 'meanwhile.outcome': 'abandoned', 'meanwhile.settled': false })
  expect(deaf.status.code).toBe(0)
  expect(ms(deaf.duration)).toBeCloseTo(2_500, 3)
  expect(named(spans, 'invoke_agent').attributes).toMatchObject({ 'meanwhile.outcome': 'cancelled' })
  expect(named(spans, 'invoke_agent').status.code).toBe(0)
})

test('a tool that throws marks its own span alone, and the exception is recorded once without its message', async () => {
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

test('an unknown tool is not named on its span, and input that fails its schema has a word of its own', async () => {
  const strict = tool({ name: 'strict', description: 's', input: z.object({ n: z.number() }), execute: () => 'ok' })
  const agent = createAgent({
    model: scriptedModel([respond(call('canary_tool', {}), call('strict', { n: 'x' })), respond(say('Done.'))]),
    tools: [strict as Tool],
    telemetry: { tracerProvider },
  })
  const spans = await spansOf(() => agent.run('Go.'))

  expect(named(spans, 'execute_tool').attributes).toMatchObject({
    'gen_ai.tool.name': '_OTHER',
    'error.type': 'unknown_tool',
  })
  expect(named(spans, 'execute_tool strict').attributes).toMatchObject({ 'error.type': 'invalid_input' })
})

test('a retried model call has a span for each attempt, under the wrap that retried', async () => {
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next(request)
      }
    },
  }
  const agent = createAgent({
    model: scriptedModel([respond(fail({ status: 503 })), respond(say('Hello.'))]),
    middleware: [again],
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

test('a model error nobody handled marks chat and run', async () => {
  const agent = createAgent({ model: scriptedModel([respond(fail({ status: 400 }))]), telemetry: { tracerProvider } })
  const spans = await spansOf(() => agent.run('Hi'))
  expect(spans.map(({ name, status, attributes }) => [name, status.code, attributes['error.type']])).toEqual([
    ['chat scripted-1', 2, '400'],
    ['invoke_agent', 2, '400'],
  ])
})

test('user code runs in its own span: tools before and after an await, wraps between events, the model at its request', async () => {
  const seen: string[] = []
  const note = (where: string) => {
    const span = trace.getActiveSpan()
    seen.push(`${where}: ${span && 'name' in span ? String(span.name) : 'none'}`)
  }
  const nosy = tool({
    name: 'nosy',
    description: 'n',
    input: z.object({}),
    async *execute() {
      note('tool')
      await after(10)
      note('tool after await')
      yield { progress: 1 }
      note('tool after yield')
      return 'ok'
    },
  })
  const scripted = scriptedModel([respond(call('nosy')), respond(say('Done.'))], {
    pace: { firstToken: 5, betweenTokens: 5 },
  })
  const agent = createAgent({
    model: {
      ...scripted,
      stream(request) {
        note('model')
        return scripted.stream(request)
      },
    },
    tools: [nosy as Tool],
    middleware: [
      {
        name: 'nosy-too',
        async *wrapModel(request, next) {
          note('wrap')
          const message = yield* next(request)
          note('wrap after next')
          return message
        },
      },
    ],
    telemetry: { tracerProvider },
  })
  await spansOf(async () => {
    for await (const event of agent.stream('Go.')) if (event.type === 'tool-start') note('reader')
  })
  expect(seen.slice(0, 7)).toEqual([
    'wrap: middleware nosy-too wrapModel',
    'model: chat scripted-1',
    'wrap after next: middleware nosy-too wrapModel',
    'reader: none',
    'tool: execute_tool nosy',
    'tool after await: execute_tool nosy',
    'tool after yield: execute_tool nosy',
  ])
})

test('the run nests under the span that is active when it is called', async () => {
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

test('every span that was started ends once, however the run goes', async () => {
  let open = 0
  let ended = 0
  const counting = new TracerProvider({
    spanProcessors: [
      {
        onStart: () => void open++,
        onEnd: () => void ended++,
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  })
  const telemetry = { tracerProvider: counting }
  const tools = [pause('weather', 200), pause('time', 5_000)]
  const pace = { firstToken: 100, betweenTokens: 100 }
  const agent = (responses: Parameters<typeof scriptedModel>[0], middleware: Middleware[] = [guard, early]) =>
    createAgent({ model: scriptedModel(responses, { pace }), tools, middleware, telemetry })
  const boom: Middleware = {
    name: 'boom',
    afterModel: () => {
      throw new Error('boom')
    },
  }
  await spansOf(() => agent([weatherThenTime, respond(say('Sunny.'))]).run('Go'))
  await spansOf(() => agent([respond(call('weather'), fail())]).run('Go'))
  await spansOf(() => agent([weatherThenTime], [boom, early]).run('Go'))
  for (const at of [50, 350, 750, 1_000, 3_000]) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), at)
    await spansOf(() => agent([weatherThenTime, respond(say('Sunny.'))]).run('Go', { signal: controller.signal }))
  }
  await spansOf(async () => {
    for await (const event of agent([weatherThenTime]).stream('Go')) if (event.type === 'tool-input-start') break
  })
  await spansOf(() => collect(agent([weatherThenTime, respond(say('Sunny.'))]).stream('Go')))

  expect(open).toBeGreaterThan(50)
  expect(ended).toBe(open)
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

test('a call past its time limit is an error of its span, a cancelled one is none (I4, I10)', async () => {
  const calls = [call('slow', {}, { id: 'late' }), call('other', {}, { id: 'cancelled' })]
  const model = scriptedModel([respond(...calls), respond(say('Done.'))])
  const tools = [stopping({ timeout: 100 }), stopping({ name: 'other' })]
  const spans = await spansOf(async () => {
    const run = createAgent({ model, tools, telemetry: { tracerProvider } }).stream('Go')
    setTimeout(() => run.cancelTool('cancelled'), 50)
    await run.result
  })
  const late = named(spans, 'execute_tool slow')
  expect(late.status.code).toBe(SpanStatusCode.ERROR)
  expect(late.attributes).toMatchObject({ 'error.type': 'timeout', 'meanwhile.outcome': 'failed' })
  expect(ms(late.duration)).toBe(100)
  const cancelled = named(spans, 'execute_tool other')
  expect(cancelled.status.code).toBe(SpanStatusCode.UNSET)
  expect(cancelled.attributes).toMatchObject({ 'meanwhile.outcome': 'cancelled' })
  expect(ms(cancelled.duration)).toBe(50)
})

test('a call that goes on beyond its time limit says so on its span (I10, K12)', async () => {
  const deaf = stopping({ timeout: 100, execute: () => after(5_000) })
  const model = scriptedModel([respond(call('slow')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [deaf], telemetry: { tracerProvider }, grace: 200 })
  const span = named(await spansOf(() => agent.run('Go')), 'execute_tool slow')
  expect(span.attributes).toMatchObject({ 'error.type': 'timeout', 'meanwhile.settled': false })
  expect(ms(span.duration)).toBe(300)
})

test('a stand-alone tool has one span, a child of what is active, that says nothing of a step (I11)', async () => {
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

test('with no SDK a run works and leaves nothing behind', async () => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]) })
  expect((await agent.run('Hi')).text).toBe('Hi.')
})

test('the version on the scope is the one of the package', async () => {
  const spans = await spansOf(() => trip([]).run('Go'))
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  expect(spans[0]?.instrumentationScope).toMatchObject({ name: manifest.name, version: manifest.version })
})

test('a tracer that throws does the run no harm', async () => {
  const broken = {
    getTracer: () => ({
      startSpan: () => {
        throw new Error('no spans today')
      },
      startActiveSpan: () => {
        throw new Error('no spans today')
      },
    }),
  }
  const model = scriptedModel([respond(call('weather')), respond(say('Sunny.'))])
  const agent = createAgent({
    model,
    tools: [pause('weather', 10)],
    middleware: [guard, early],
    telemetry: { tracerProvider: broken },
  })
  const run = agent.run('Where to?')
  await vi.runAllTimersAsync()
  expect((await run).text).toBe('Sunny.')
})
