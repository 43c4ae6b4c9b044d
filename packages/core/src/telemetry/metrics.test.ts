import { call, cut, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createNoopMeter, type MeterProvider } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import { durationOf, observed, type Point } from '../../test/observed.ts'
import { pause } from '../../test/tools.ts'
import { agentTool, createAgent, interrupt, type Middleware, runTool, settle, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

async function played<Result>(work: Promise<Result>): Promise<Result | undefined> {
  const done = work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await done
}

/** Starts each call as soon as it is sealed. */
const early = startingEarly({ attributes: { 'meanwhile.dispatch.evidence': 'sealed' } })

const retry: Middleware = {
  name: 'retry',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        yield { type: 'attempt-failed', error, next: 'retry' }
      }
    }
  },
}

/** The records of these metrics, optionally without their attributes. */
const of = (points: readonly Point[], name: string) => points.filter((point) => point.name === name)

const inference = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'scripted',
  'gen_ai.request.model': 'scripted-1',
}

test('a run, its attempts and its tool calls have one record each, and each duration is that of its span', async () => {
  const { telemetry, spans, span, points } = observed()
  const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, reasoningTokens: 5 }
  const agent = createAgent({
    name: 'planner',
    model: scriptedModel([
      respond(wait(100), call('look', {}), wait(200), say('.'), end({ usage })),
      respond(wait(50), say('Done.'), end({ usage: { inputTokens: 200, outputTokens: 10 } })),
    ]),
    tools: [pause('look', 150)],
    middleware: [early],
    telemetry,
  })
  await played(agent.run('Go'))
  const [first, second] = spans().filter(({ name }) => name === 'chat scripted-1') as [ReadableSpan, ReadableSpan]
  const tokens = { ...inference, 'gen_ai.token.modality': 'unknown' }
  const counted = (name: string, sum: number) => ({
    name: `gen_ai.client.inference.usage.${name}`,
    attributes: tokens,
    sum,
  })
  const look = { 'gen_ai.tool.name': 'look' }
  const planner = { 'gen_ai.agent.name': 'planner' }
  const one = { count: 1 }
  expect([durationOf(first), durationOf(second)]).toEqual([0.3, 0.05])
  expect([durationOf(span('execute_tool look')), durationOf(span('invoke_agent planner'))]).toEqual([0.15, 0.35])
  expect(await points()).toEqual([
    { name: 'gen_ai.client.inference.duration', attributes: inference, count: 2, sum: 0.35 },
    { name: 'gen_ai.client.inference.time_to_first_chunk', attributes: inference, count: 2, sum: 0.15 },
    counted('input_tokens', 300),
    counted('output_tokens', 30),
    counted('cache_read.input_tokens', 60),
    counted('cache_write.input_tokens', 0),
    counted('reasoning.output_tokens', 5),
    {
      name: 'gen_ai.execute_tool.duration',
      attributes: { ...look, 'gen_ai.tool.type': 'function', ...planner, 'meanwhile.outcome': 'committed' },
      ...one,
      sum: 0.15,
    },
    {
      name: 'meanwhile.dispatch.lag',
      attributes: { ...look, 'meanwhile.dispatch.evidence': 'sealed' },
      ...one,
      sum: 0,
    },
    { name: 'meanwhile.head_start', attributes: { ...look, ...planner }, ...one, sum: 0.2 },
    {
      name: 'meanwhile.tool_calls',
      attributes: { ...look, 'meanwhile.dispatch.mode': 'early', 'meanwhile.outcome': 'committed' },
      sum: 1,
    },
    {
      name: 'gen_ai.invoke_agent.duration',
      attributes: { ...planner, 'gen_ai.request.model': 'scripted-1' },
      ...one,
      sum: 0.35,
    },
    { name: 'gen_ai.invoke_agent.inference_calls', attributes: planner, ...one, sum: 2 },
    { name: 'gen_ai.invoke_agent.tool_calls', attributes: planner, ...one, sum: 1 },
  ])
})

test('units and buckets are those of the conventions, and our own', async () => {
  const { telemetry, instruments } = observed()
  const model = scriptedModel([respond(call('look'), wait(10), say('.')), respond(say('Done.'))])
  await played(createAgent({ model, tools: [pause('look', 1)], middleware: [early], telemetry }).run('Go'))
  const duration = {
    unit: 's',
    buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  }
  const number = [1, 2, 4, 8, 16, 32, 64, 128]
  const tokens = { unit: '{token}' }
  expect(await instruments()).toEqual({
    'gen_ai.client.inference.duration': duration,
    'gen_ai.client.inference.time_to_first_chunk': duration,
    'gen_ai.client.inference.usage.input_tokens': tokens,
    'gen_ai.client.inference.usage.output_tokens': tokens,
    'gen_ai.client.inference.usage.cache_read.input_tokens': tokens,
    'gen_ai.client.inference.usage.cache_write.input_tokens': tokens,
    'gen_ai.client.inference.usage.reasoning.output_tokens': tokens,
    'gen_ai.execute_tool.duration': duration,
    'gen_ai.invoke_agent.duration': {
      unit: 's',
      buckets: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
    },
    'gen_ai.invoke_agent.inference_calls': { unit: '{inference_call}', buckets: number },
    'gen_ai.invoke_agent.tool_calls': { unit: '{tool_call}', buckets: number },
    'meanwhile.head_start': duration,
    'meanwhile.dispatch.lag': {
      unit: 's',
      buckets: Array.from({ length: 15 }, (_, power) => 0.0001 * 2 ** power),
    },
    'meanwhile.tool_calls': { unit: '{tool_call}' },
  })
})

test('a failed attempt is a record with its error.type, the model and the usage that arrived, and counts', async () => {
  const { telemetry, points } = observed()
  const response = { id: 'r-1', model: 'scripted-1-0925' }
  const scripted = scriptedModel([
    respond(fail({ status: 529 })),
    respond(wait(20), say('So'), cut()),
    respond(say('Done.'), end({ usage: { inputTokens: 7 } })),
  ])
  const agent = createAgent({
    model: {
      ...scripted,
      server: { address: 'models.test', port: 8443 },
      async *stream(request) {
        const message = yield* scripted.stream(request)
        return { ...message, response }
      },
    },
    middleware: [retry],
    telemetry,
  })
  await played(agent.run('Go'))
  const all = await points()
  const server = { ...inference, 'server.address': 'models.test', 'server.port': 8443 }
  expect(of(all, 'gen_ai.client.inference.duration').map(({ attributes, count }) => ({ attributes, count }))).toEqual([
    { attributes: { ...server, 'error.type': '529' }, count: 1 },
    { attributes: { ...server, 'error.type': 'stream_truncated' }, count: 1 },
    { attributes: { ...server, 'gen_ai.response.model': 'scripted-1-0925' }, count: 1 },
  ])
  expect(of(all, 'gen_ai.client.inference.time_to_first_chunk')).toEqual([
    { name: expect.any(String), attributes: server, count: 1, sum: 0.02 },
    {
      name: expect.any(String),
      attributes: { ...server, 'gen_ai.response.model': 'scripted-1-0925' },
      count: 1,
      sum: 0,
    },
  ])
  expect(of(all, 'gen_ai.client.inference.usage.input_tokens').map(({ sum }) => sum)).toEqual([0, 7])
  expect(of(all, 'gen_ai.invoke_agent.inference_calls').map(({ sum }) => sum)).toEqual([3])
  expect(of(all, 'gen_ai.invoke_agent.duration')).toEqual([
    { name: expect.any(String), attributes: { 'gen_ai.request.model': 'scripted-1' }, count: 1, sum: 0.02 },
  ])
})

test('error.type is only on what failed: a handled tool error is not an error of the run, and a cancel is not an error', async () => {
  const { telemetry, points } = observed()
  const broken = tool({
    name: 'broken',
    description: 'b',
    input: z.object({}),
    execute: () => {
      throw new RangeError('no')
    },
  }) as Tool
  const run = (...responses: Parameters<typeof scriptedModel>[0]) =>
    createAgent({ model: scriptedModel(responses), tools: [broken, pause('slow', 500)], telemetry, maxSteps: 2 })
  await played(run(respond(call('broken')), respond(say('Done.'))).run('Go'))
  await played(run(respond(fail({ status: 400 }))).run('Go'))
  await played(run(respond(call('broken')), respond(call('broken'))).run('Go'))
  const stopped = run(respond(call('slow'))).stream('Go')
  setTimeout(() => void stopped.cancel(), 100)
  await played(stopped.result)
  const all = await points()
  const types = (name: string) =>
    of(all, name).map(({ attributes, count }) => [attributes['error.type'], attributes['meanwhile.outcome'], count])
  expect(types('gen_ai.invoke_agent.duration')).toEqual([
    [undefined, undefined, 2],
    ['ModelError', undefined, 1],
    ['MaxStepsError', undefined, 1],
  ])
  expect(types('gen_ai.execute_tool.duration')).toEqual([
    ['RangeError', 'failed', 2],
    [undefined, 'cancelled', 1],
  ])
  expect(types('gen_ai.client.inference.duration')).toEqual([
    [undefined, undefined, 5],
    ['400', undefined, 1],
  ])
})

test('the counted calls are the same with early starts and without; discarded ones are not calls of the run', async () => {
  const counted = async (middleware: readonly Middleware[]) => {
    const { telemetry, points } = observed()
    const model = scriptedModel([
      respond(call('look'), call('stay'), call('nobody'), wait(100), say('.')),
      respond(say('Done.')),
    ])
    await played(createAgent({ model, tools: [pause('look', 1), pause('stay', 1)], middleware, telemetry }).run('Go'))
    const all = await points()
    const calls = of(all, 'meanwhile.tool_calls').map(({ attributes: a, sum }) =>
      [a['gen_ai.tool.name'], a['meanwhile.dispatch.mode'], a['meanwhile.outcome'], sum].join(' '),
    )
    return { run: of(all, 'gen_ai.invoke_agent.tool_calls').map(({ sum }) => sum), calls: calls.toSorted() }
  }
  expect(await counted([withdrawing('look')])).toEqual({
    run: [2],
    calls: ['_OTHER after_model failed 1', 'stay after_model committed 1'],
  })
  expect(await counted([withdrawing('look'), early])).toEqual({
    run: [2],
    calls: ['_OTHER early failed 1', 'look early discarded 1', 'stay early committed 1'],
  })
})

test('a call executed twice is one call with two executions, one that a wrap answers is one without', async () => {
  const { telemetry, points } = observed()
  const twice: Middleware = {
    name: 'twice',
    async *wrapToolCall(call, next) {
      if (call.name === 'kept') return { role: 'tool', callId: call.id, name: call.name, content: [] }
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  const flaky = tool({
    name: 'flaky',
    description: 'f',
    input: z.object({}),
    execute: async (_, { attempt }) => {
      await sleep(100)
      if (attempt === 1) throw new Error('not yet')
    },
  }) as Tool
  const model = scriptedModel([respond(call('flaky'), call('kept'), wait(300), say('.')), respond(say('Done.'))])
  const middleware = [twice, early]
  await played(createAgent({ model, tools: [flaky, pause('kept', 1)], middleware, telemetry }).run('Go'))
  const all = await points()
  expect(
    of(all, 'gen_ai.execute_tool.duration').map(({ attributes, sum }) => [attributes['meanwhile.outcome'], sum]),
  ).toEqual([
    ['failed', 0.1],
    ['committed', 0.1],
  ])
  expect(of(all, 'meanwhile.head_start').map(({ count, sum }) => [count, sum])).toEqual([[1, 0.3]])
  expect(of(all, 'meanwhile.dispatch.lag').map(({ count, sum }) => [count, sum])).toEqual([[1, 0]])
  expect(
    of(all, 'meanwhile.tool_calls').map(({ attributes, sum }) => [
      attributes['gen_ai.tool.name'],
      attributes['meanwhile.outcome'],
      sum,
    ]),
  ).toEqual([
    ['flaky', 'committed', 1],
    ['kept', 'committed', 1],
  ])
})

test('a call counts as early if one of its executions began early; one that waited for its model call does not', async () => {
  const { telemetry, points } = observed()
  const approve: Middleware = {
    name: 'approve',
    async *wrapToolCall(call, next, run) {
      if (call.name === 'kept') return { role: 'tool', callId: call.id, name: call.name, content: [] }
      if (call.name === 'twice') await settle(next(call))
      if (call.name !== 'look') await run.stood(call.id)
      return yield* next(call)
    },
  }
  const names = ['look', 'asks', 'twice', 'kept']
  const model = scriptedModel([respond(...names.map((name) => call(name)), wait(100), say('.')), respond(say('Done.'))])
  const tools = names.map((name) => pause(name, 10))
  await played(createAgent({ model, tools, middleware: [approve, early], telemetry }).run('Go'))
  const calls = of(await points(), 'meanwhile.tool_calls').map(({ attributes: a, sum }) =>
    [a['gen_ai.tool.name'], a['meanwhile.dispatch.mode'], a['meanwhile.outcome'], sum].join(' '),
  )
  expect(calls.toSorted()).toEqual([
    'asks after_model committed 1',
    'kept early committed 1',
    'look early committed 1',
    'twice early committed 1',
  ])
})

test('an interrupted run and its resume are two records; its call counts once', async () => {
  const { telemetry, points } = observed()
  const asks = tool({
    name: 'asks',
    description: 'a',
    input: z.object({}),
    execute: (_, { answers }) => {
      if (answers.length === 0) throw interrupt()
      return 'ok'
    },
  }) as Tool
  const model = scriptedModel([respond(call('asks')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [asks], telemetry })
  const first = await played(agent.run('Go'))
  const answers = Object.fromEntries((first?.interrupts ?? []).map(({ id }) => [id, 'yes']))
  await played(agent.resume(first?.checkpoint ?? '', answers).result)
  const all = await points()
  expect(of(all, 'gen_ai.invoke_agent.tool_calls')).toEqual([
    { name: expect.any(String), attributes: {}, count: 2, sum: 1 },
  ])
  expect(of(all, 'meanwhile.tool_calls').map(({ attributes, sum }) => [attributes['meanwhile.outcome'], sum])).toEqual([
    ['interrupted', 1],
    ['committed', 1],
  ])
})

test('the model is on a run’s record if the run called only one; a nested agent’s attempts are its own', async () => {
  const { telemetry, points } = observed()
  const inner = createAgent({
    name: 'expert',
    description: 'Knows.',
    model: scriptedModel([respond(say('42'))], { id: 'small-1' }),
    telemetry,
  })
  const other = scriptedModel([respond(say('Done.'))], { id: 'other-1' })
  const agent = createAgent({
    name: 'planner',
    model: scriptedModel([respond(call('expert', { request: 'What?' }))]),
    tools: [agentTool(inner) as Tool],
    middleware: [
      {
        name: 'switch',
        wrapModel: (request, next, run) => next(run.step > 1 ? { ...request, model: other } : request),
      },
    ],
    telemetry,
  })
  await played(agent.run('Go'))
  const all = await points()
  expect(of(all, 'gen_ai.invoke_agent.duration').map(({ attributes }) => attributes)).toEqual([
    { 'gen_ai.agent.name': 'expert', 'gen_ai.request.model': 'small-1' },
    { 'gen_ai.agent.name': 'planner' },
  ])
  expect(
    of(all, 'gen_ai.invoke_agent.inference_calls').map(({ attributes, sum }) => [attributes['gen_ai.agent.name'], sum]),
  ).toEqual([
    ['expert', 1],
    ['planner', 2],
  ])
})

test('a stand-alone tool is measured as its span is: no agent, no mode, no run (I11)', async () => {
  const { telemetry, points } = observed()
  await played(runTool(pause('look', 200), {}, { telemetry }).result)
  await played(runTool(pause('look', 200), {}, { telemetry, timeout: 50 }).result)
  const look = { 'gen_ai.tool.name': 'look' }
  const executed = { ...look, 'gen_ai.tool.type': 'function' }
  expect(await points()).toEqual([
    {
      name: 'gen_ai.execute_tool.duration',
      attributes: { ...executed, 'meanwhile.outcome': 'committed' },
      count: 1,
      sum: 0.2,
    },
    {
      name: 'gen_ai.execute_tool.duration',
      attributes: { ...executed, 'meanwhile.outcome': 'failed', 'error.type': 'timeout' },
      count: 1,
      sum: 0.2,
    },
    { name: 'meanwhile.dispatch.lag', attributes: look, count: 2, sum: 0 },
    { name: 'meanwhile.tool_calls', attributes: { ...look, 'meanwhile.outcome': 'committed' }, sum: 1 },
    { name: 'meanwhile.tool_calls', attributes: { ...look, 'meanwhile.outcome': 'failed' }, sum: 1 },
  ])
})

const noop = createNoopMeter()
const throws = () => {
  throw new Error('no metrics today')
}
const broken: Readonly<Record<string, MeterProvider>> = {
  getMeter: { getMeter: throws },
  createHistogram: { getMeter: () => ({ ...noop, createHistogram: throws, createCounter: throws }) },
  record: {
    getMeter: () => ({ ...noop, createHistogram: () => ({ record: throws }), createCounter: () => ({ add: throws }) }),
  },
}

test.for(Object.entries(broken))(
  'a meter provider whose %s throws does not affect a run or a tool (MA15)',
  async ([, meterProvider]) => {
    const telemetry = { meterProvider }
    const model = scriptedModel([respond(call('look')), respond(say('Sunny.'))])
    const agent = createAgent({ model, tools: [pause('look', 10)], middleware: [early], telemetry })
    expect((await played(agent.run('Where to?')))?.text).toBe('Sunny.')
    const run = runTool(pause('look', 10), {}, { telemetry })
    await played(run.result)
    expect(run.status().state).toBe('ok')
  },
)
