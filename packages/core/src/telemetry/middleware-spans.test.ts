import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { spanOutline } from '@meanwhile/harness/otlp'
import { context, type Span, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { durationOf, type Observed, observed } from '../../test/observed.ts'
import {
  type AgentOptions,
  agentTool,
  createAgent,
  interrupt,
  type Middleware,
  type MiddlewareSpans,
  map,
  type Tool,
  type ToolMessage,
  tool,
} from '../index.ts'

// Which hooks and wraps have spans, depending on `telemetry.middleware`.

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
})

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: async () => {
    await sleep(200)
    return 'seen'
  },
}) as Tool

const twoSteps = [respond(wait(100), call('look', {}), wait(300), say('One moment.')), respond(wait(100), say('Done.'))]

/** Plays a run to its end or its failure. `undefined`: the default. */
async function played(
  here: Observed,
  middleware: readonly Middleware[],
  spans?: MiddlewareSpans,
  options: Partial<AgentOptions> & { readonly says?: readonly ScriptResponse[] } = {},
): Promise<readonly string[]> {
  const { says = twoSteps, ...more } = options
  const telemetry = { ...here.telemetry, ...(spans && { middleware: spans }) }
  const agent = createAgent({ model: scriptedModel(says), tools: [look], middleware, telemetry, ...more })
  const run = agent.run('Go').catch(() => undefined)
  await vi.runAllTimersAsync()
  await run
  return spanOutline(here.spans()).split('\n')
}

const answerTo = (callId: string): ToolMessage => ({ role: 'tool', callId, name: 'look', content: [] })

/** Passes on everything unchanged. */
const passing: Middleware = {
  name: 'pass',
  beforeAgent: (setup) => setup,
  beforeModel: () => undefined,
  afterModel: (state) => state,
  beforeFinalAnswer: () => ({ accept: true }),
  wrapAgent: (setup, next) => next(setup),
  async *wrapModel(request, next) {
    return yield* next(request)
  },
  async *wrapToolCall(call, next) {
    return yield* next(call)
  },
}

const BARE = ['invoke_agent', '  chat scripted-1', '  execute_tool look', '  chat scripted-1']

test('with `changed`, middleware that only passes on what it received has no span: model calls and tools are children of the run', async () => {
  expect(await played(observed(), [passing, early, passing2], 'changed')).toEqual(BARE)
})

const passing2: Middleware = { ...passing, name: 'pass too' }

test('with `none` no middleware has a span, whatever it does; with `all`, and by default, each has one', async () => {
  const active: Middleware = { ...passing, beforeModel: ({ messages }) => ({ messages: [...messages] }) }
  expect(await played(observed(), [active], 'none')).toEqual(BARE)
  const all = await played(observed(), [active], 'all')
  expect(all.filter((line) => line.includes('middleware pass'))).toHaveLength(10)
  expect(await played(observed(), [active])).toEqual(all)
})

/** Removes the events of a type from the first response. */
function leavingOut(type: string): Middleware {
  return {
    name: 'm',
    async *wrapModel(request, next, { step }) {
      const flow = next(request)
      for (;;) {
        const one = await flow.next()
        if (one.done) return one.value
        if (step > 1 || one.value.type !== type) yield one.value
      }
    },
  }
}

/** Each does one thing by itself, and only that has a span. */
const DOING: readonly (readonly [what: string, middleware: Middleware, spans: readonly string[]])[] = [
  [
    'a hook that gives another history',
    { name: 'm', beforeModel: ({ messages }, { step }) => (step === 1 ? { messages: [...messages] } : undefined) },
    ['beforeModel'],
  ],
  [
    'a hook that gives another set-up',
    { name: 'm', beforeAgent: (setup) => ({ ...setup, instructions: 'Be brief.' }) },
    ['beforeAgent'],
  ],
  [
    'a rejected answer',
    {
      name: 'm',
      beforeFinalAnswer: (_, { step }) => (step < 3 ? { accept: false, feedback: 'More.' } : { accept: true }),
    },
    ['beforeFinalAnswer'],
  ],
  [
    'an accepted answer in other words',
    {
      name: 'm',
      beforeFinalAnswer: ({ messages }) => {
        const message = messages.at(-1)
        return message?.role === 'assistant' ? { accept: true, message: { ...message } } : undefined
      },
    },
    ['beforeFinalAnswer'],
  ],
  [
    'a hook that waits',
    {
      name: 'm',
      beforeModel: async (_, { step }) => {
        await sleep(step === 1 ? 2 : 1)
      },
    },
    ['beforeModel'],
  ],
  [
    'another request',
    {
      name: 'm',
      wrapModel: (request, next, { step }) => next(step === 1 ? { ...request, instructions: 'Be brief.' } : request),
    },
    ['wrapModel'],
  ],
  [
    'another response',
    {
      name: 'm',
      async *wrapModel(request, next, { step }) {
        const message = yield* next(request)
        return step === 1 ? { ...message } : message
      },
    },
    ['wrapModel'],
  ],
  [
    'another event',
    { name: 'm', wrapAgent: (setup, next) => map(next(setup), (event) => ({ ...event })) },
    ['wrapAgent'],
  ],
  [
    'an event more',
    {
      name: 'm',
      async *wrapToolCall(call, next) {
        yield { type: 'custom', name: 'n', data: 1, source: 'm' }
        return yield* next(call)
      },
    },
    ['wrapToolCall'],
  ],
  ['an event less', leavingOut('tool-input-delta'), ['wrapModel']],
  ['the last events less', leavingOut('text-delta'), ['wrapModel']],
  [
    'a wait before `next`',
    {
      name: 'm',
      async *wrapModel(request, next, { step }) {
        await sleep(step)
        return yield* next(request)
      },
    },
    ['wrapModel'],
  ],
  [
    'a wait between events, and after the last',
    {
      name: 'm',
      async *wrapToolCall(call, next) {
        const message = yield* next(call)
        await sleep(5)
        return message
      },
    },
    ['wrapToolCall'],
  ],
  [
    'an answer without `next`',
    {
      name: 'm',
      async *wrapToolCall(call) {
        await Promise.resolve()
        return answerTo(call.id)
      },
    },
    ['wrapToolCall'],
  ],
  [
    'a `next` that is called twice',
    {
      name: 'm',
      async *wrapToolCall(call, next) {
        yield* next(call)
        return yield* next(call)
      },
    },
    ['wrapToolCall'],
  ],
]

test('a request with another signal, or another limit of the retries of the client, counts as the same', async () => {
  const limiting: Middleware = {
    name: 'limiting',
    wrapModel: (request, next) => next({ ...request, clientRetries: 0, signal: AbortSignal.any([request.signal]) }),
  }
  expect(await played(observed(), [limiting, passing], 'changed')).toEqual(BARE)
})

test.each(DOING)('with `changed`, %s has a span next to the others', async (_, middleware, hooks) => {
  const here = observed()
  const outer: Middleware = { ...passing, name: 'outer' }
  const says = [...twoSteps, respond(say('More.'))]
  const lines = await played(here, [outer, middleware, passing2], 'changed', { says })
  const others = lines.filter((line) => !line.includes('middleware'))
  expect(others.slice(0, 2)).toEqual(BARE.slice(0, 2))
  expect(others.every((line) => /^( {2})?\S/.test(line))).toBe(true)
  expect(lines.filter((line) => line.includes('middleware'))).toEqual(hooks.map((hook) => `  middleware m ${hook}`))
  here.watch.assertEndedOnce()
})

test('its span has the same times, attributes and parent as with `all`', async () => {
  const slow: Middleware = {
    name: 'slow',
    async *wrapModel(request, next, { step }) {
      await sleep(step === 2 ? 30 : 0)
      return yield* next(request)
    },
  }
  const spanIn = async (spans: MiddlewareSpans) => {
    const here = observed()
    await played(here, [slow], spans)
    const span = here.spans().findLast(({ name }) => name === 'middleware slow wrapModel')
    const run = here.span('invoke_agent')
    expect(span?.parentSpanContext?.spanId).toBe(run.spanContext().spanId)
    if (!span) throw new Error('no span')
    const since = (time: readonly [number, number]) =>
      Math.round((time[0] - run.startTime[0]) * 1e3 + (time[1] - run.startTime[1]) / 1e6)
    const { attributes, status, kind } = span
    return { attributes, status, kind, from: since(span.startTime), to: since(span.endTime) }
  }
  const changed = await spanIn('changed')
  expect(changed).toEqual(await spanIn('all'))
  expect(changed).toMatchObject({
    from: 600,
    to: 730,
    attributes: {
      'meanwhile.middleware.name': 'slow',
      'meanwhile.middleware.hook': 'wrapModel',
      'meanwhile.middleware.next_calls': 1,
      'meanwhile.step.index': 2,
    },
  })
})

test('an error has a span where it began, with its exception, and none where it only passed through', async () => {
  const here = observed()
  const broken: Middleware = {
    name: 'broken',
    async *wrapModel(request, next) {
      yield* next(request)
      throw new RangeError('no')
    },
  }
  const lines = await played(here, [passing, broken, passing2], 'changed')
  expect(lines.toSorted()).toEqual(['  chat scripted-1', '  middleware broken wrapModel ERROR', 'invoke_agent ERROR'])
  const told = here.spans().map(({ name, status, events }) => [name, status.code, events.length])
  expect(told).toEqual([
    ['chat scripted-1', 0, 0],
    ['middleware broken wrapModel', 2, 1],
    ['invoke_agent', 2, 0],
  ])
  expect(here.span('middleware broken wrapModel').attributes['error.type']).toBe('RangeError')

  // A failure of the model is on its attempt and its run.
  const failing = observed()
  const says = [respond(wait(5), fail())]
  expect(await played(failing, [passing, passing2], 'changed', { says })).toEqual([
    'invoke_agent ERROR',
    '  chat scripted-1 ERROR',
  ])
  const events = failing.spans().map(({ name, status, events }) => [name, status.code, events.length])
  expect(events).toEqual([
    ['chat scripted-1', 2, 1],
    ['invoke_agent', 2, 0],
  ])

  // Without spans of middleware the exception is on the run.
  const silent = observed()
  expect(await played(silent, [broken], 'none')).toEqual(['invoke_agent ERROR', '  chat scripted-1'])
  expect(silent.span('invoke_agent').events).toHaveLength(1)
})

test('a hook that asks has a span without an error, and a repeated attempt is a child of the run', async () => {
  const here = observed()
  const asking: Middleware = { name: 'asking', afterModel: () => interrupt('May I?') }
  const says = [respond(wait(5), fail()), ...twoSteps]
  const lines = await played(here, [askAgain, passing, asking], 'changed', { says })
  expect(lines.toSorted()).toEqual([
    '  chat scripted-1',
    '  chat scripted-1 ERROR',
    '  middleware again wrapModel',
    '  middleware asking afterModel',
    'invoke_agent',
  ])
  expect(here.span('middleware asking afterModel').status).toEqual({ code: 0 })
})

test('a hook that is still running when the run is aborted has a span', async () => {
  const here = observed()
  const hanging: Middleware = { name: 'hanging', beforeModel: () => new Promise(() => {}) }
  const telemetry = { ...here.telemetry, middleware: 'changed' as const }
  const agent = createAgent({ model: scriptedModel(twoSteps), middleware: [passing, hanging], telemetry })
  const controller = new AbortController()
  const run = agent.run('Go', { signal: controller.signal }).catch(() => undefined)
  await vi.advanceTimersByTimeAsync(50)
  controller.abort()
  await vi.runAllTimersAsync()
  await run
  expect(spanOutline(here.spans()).split('\n')).toEqual(['invoke_agent', '  middleware hanging beforeModel'])
})

test.each(['changed', 'none'] as const)(
  'with `%s` the run’s span is active in hooks and wraps, and a tool’s own span in the tool',
  async (spans) => {
    const here = observed()
    const note = (name: string) => here.telemetry.tracerProvider.getTracer('app').startSpan(name).end()
    const seen: (Span | undefined)[] = []
    const noting: Middleware = {
      name: 'noting',
      beforeModel: async (_, { step }) => {
        if (step > 1) return
        note('hook')
        await sleep(10)
        note('hook, later')
        seen.push(trace.getActiveSpan())
      },
      async *wrapToolCall(call, next) {
        note('wrap')
        await sleep(10)
        note('wrap, later')
        try {
          return yield* next(call)
        } finally {
          note('wrap, after')
        }
      },
    }
    const inside = { ...look, execute: () => note('inside') } as Tool
    const lines = await played(here, [passing, noting], spans, { tools: [inside] })
    expect(lines.filter((line) => !line.includes('middleware')).toSorted()).toEqual(
      [
        'invoke_agent',
        '  hook',
        '  hook, later',
        '  chat scripted-1',
        '  wrap',
        '  wrap, later',
        '  execute_tool look',
        '    inside',
        '  wrap, after',
        '  chat scripted-1',
      ].toSorted(),
    )
    expect(seen.map((span) => span?.spanContext().spanId)).toEqual([here.span('invoke_agent').spanContext().spanId])
  },
)

test('a call that a wrap answers is counted once, whichever hooks and wraps have spans', async () => {
  const answering: Middleware = {
    name: 'answering',
    async *wrapToolCall({ id }) {
      await Promise.resolve()
      return answerTo(id)
    },
  }
  const countIn = async (spans: MiddlewareSpans) => {
    const here = observed()
    await played(here, [answering], spans)
    return (await here.points()).filter(({ name }) => name === 'meanwhile.tool_calls')
  }
  const all = await countIn('all')
  expect(all).toEqual([expect.objectContaining({ sum: 1 })])
  expect(await countIn('changed')).toEqual(all)
  expect(await countIn('none')).toEqual(all)
})

test('the measurements are the same, and belong to the same spans', async () => {
  const measuredIn = async (spans: MiddlewareSpans) => {
    const here = observed()
    await played(here, [passing, early], spans)
    return here.points()
  }
  expect(await measuredIn('changed')).toEqual(await measuredIn('all'))
})

test('an agent inside a run uses the setting of the agent that calls it, unless it has its own', async () => {
  const linesOf = async (own?: MiddlewareSpans) => {
    const here = observed()
    const expert = createAgent({
      name: 'expert',
      description: 'Knows.',
      model: scriptedModel([respond(say('42'))]),
      middleware: [passing],
      telemetry: { ...here.telemetry, ...(own && { middleware: own }) },
    })
    const says = [respond(call('expert', { request: 'What?' })), respond(say('Done.'))]
    return played(here, [passing], 'changed', { says, tools: [agentTool(expert) as Tool] })
  }
  expect(await linesOf()).toEqual([
    'invoke_agent',
    '  chat scripted-1',
    '  execute_tool expert',
    '    invoke_agent expert',
    '      chat scripted-1',
    '  chat scripted-1',
  ])
  expect((await linesOf('all')).filter((line) => line.includes('middleware')).length).toBeGreaterThan(4)
})

test('the span of a wrap begins when the wrap began, and ends when it ended', async () => {
  const here = observed()
  const slow: Middleware = {
    name: 'slow',
    async *wrapAgent(setup, next) {
      const result = yield* next(setup)
      await sleep(25)
      return result
    },
  }
  await played(here, [slow], 'changed')
  expect(durationOf(here.span('middleware slow wrapAgent'))).toBe(durationOf(here.span('invoke_agent')))
})

test('without an SDK nothing is measured of a wrap, whichever have spans', async () => {
  const asked = async (middleware: MiddlewareSpans) => {
    const spy = vi.spyOn(performance, 'now')
    const agent = createAgent({
      model: scriptedModel(twoSteps),
      tools: [look],
      middleware: [passing, early],
      telemetry: { middleware },
    })
    const run = agent.run('Go')
    await vi.runAllTimersAsync()
    await run
    const { length } = spy.mock.calls
    spy.mockRestore()
    return length
  }
  expect(await asked('changed')).toBe(await asked('all'))
})

test('any other value is a ConfigError (A2)', () => {
  const middleware = 'some' as MiddlewareSpans
  expect(() => createAgent({ model: scriptedModel([]), telemetry: { middleware } })).toThrow(
    "telemetry.middleware: must be 'all', 'changed' or 'none'",
  )
})
