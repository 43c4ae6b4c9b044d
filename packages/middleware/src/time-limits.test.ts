import { call, collect, end, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  AgentError,
  type AgentEvent,
  type AgentRun,
  createAgent,
  Interrupt,
  interrupt,
  type Middleware,
  map,
  type Progress,
  type Tool,
  type ToolContext,
  ToolTimeoutError,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { retryTool } from './retry-tool.ts'
import { timeout } from './timeout.ts'

// A timed-out call looks the same whether its tool or the middleware limits its time.

afterEach(() => void vi.useRealTimers())

const LIMIT = 100
const GRACE = 300
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const later = (ms: number, act: () => unknown) => sleep(ms).then(act)
const thrown = (error: unknown) => () => Promise.reject(error)

interface Work {
  readonly execute: (context: ToolContext) => unknown
  readonly more?: Omit<Partial<Tool>, 'needs'>
  readonly outside?: readonly Middleware[]
  readonly inside?: readonly Middleware[]
}

/** Does not discard the call, and does not answer for it. */
const passing: Middleware = {
  name: 'passing',
  async *wrapToolCall(call, next) {
    return yield* next(call)
  },
}

const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

const works: Readonly<Record<string, Work>> = {
  'heeds its signal': {
    execute: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  },
  'heeds it with an error of its own': {
    execute: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new RangeError('stopped')))),
  },
  'gives a value that comes late': { execute: () => later(150, () => 'late') },
  'throws late': { execute: () => later(150, thrown(new Error('late'))) },
  'throws an AgentError late': { execute: () => later(150, thrown(new AgentError('late'))) },
  'heeds nothing': { execute: () => later(5_000, () => 'much later') },
  'heeds nothing, and throws': { execute: () => later(5_000, thrown(new Error('much later'))) },
  'never ends': { execute: () => new Promise(() => undefined) },
  'is a generator that heeds nothing': {
    async *execute(): AsyncGenerator<Progress, string> {
      yield { message: 'begun' }
      await sleep(5_000)
      yield { message: 'much later' }
      return 'much later'
    },
  },
  'is a generator that is closed at its next yield': {
    async *execute(): AsyncGenerator<Progress, string> {
      for (let n = 1; ; n++) {
        await sleep(40)
        yield { progress: n / 10 }
      }
    },
  },
  'calls a tool that heeds nothing': {
    execute: ({ run }) => run?.callTool({ type: 'tool-call', id: 'inner', name: 'inner', input: {} }),
  },
  'heeds nothing, with a wrap inside': { execute: () => later(5_000, () => 'much later'), inside: [passing] },
  'heeds nothing, and is tried again': {
    execute: ({ attempt }) => (attempt === 1 ? later(5_000, () => 'much later') : 'the second time'),
    outside: [retryTool({ random: () => 0 })],
  },
  'heeds nothing, however often it is tried': {
    execute: () => later(5_000, () => 'much later'),
    outside: [retryTool({ maxRetries: 1, random: () => 0 })],
  },
  'heeds nothing, and started early': { execute: () => later(5_000, () => 'much later'), outside: [early] },
}

const inner = tool({
  name: 'inner',
  description: 'i',
  input: z.object({}),
  effect: 'read',
  execute: () => later(5_000, () => 'much later'),
}) as Tool

type Limit = 'its tool' | 'the middleware'

/** Everything reported about a call of this work: result, status, events, spans and the texts that the model reads. */
async function told(limit: Limit, { execute, more, outside = [], inside = [] }: Work) {
  vi.useRealTimers()
  vi.useFakeTimers({ now: 1_000_000 })
  const exporter = new InMemorySpanExporter()
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }) }
  const reasons: string[] = []
  const worker = tool({
    name: 'work',
    description: 'w',
    input: z.object({}),
    effect: 'read',
    ...(limit === 'its tool' && { timeout: LIMIT }),
    execute: (_, context) => {
      context.signal.addEventListener('abort', () => reasons.push(String(context.signal.reason)))
      return execute(context)
    },
    ...more,
  }) as Tool
  const own = limit === 'the middleware' ? [timeout({ tool: LIMIT })] : []
  const agent = createAgent({
    model: scriptedModel([respond(call('work', {}, { id: 'c1' }), wait(10)), respond(say('Done.'))]),
    tools: [worker, inner],
    middleware: [...outside, ...own, ...inside],
    grace: GRACE,
    telemetry,
  })
  const run = agent.stream('Go')
  const { result, events } = await played(collect(run))
  const statuses = statusesOf(run, ['c1', 'inner'])
  // Whatever still arrives.
  await vi.runAllTimersAsync()
  expect(statusesOf(run, ['c1', 'inner'])).toEqual(statuses)
  const spans = exporter.getFinishedSpans()
  return {
    text: result?.text,
    messages: result?.messages,
    abandoned: result?.abandoned,
    warnings: result?.warnings,
    statuses,
    reasons,
    events: events.map(plain),
    spans: spans.filter(({ name }) => name.startsWith('execute_tool')).map(spanOf),
    // Each recorded once, where it is thrown: on the span of the tool, or of the middleware.
    exceptions: spans
      .flatMap(({ events }) => events.map(({ attributes }) => String(attributes?.['exception.type'])))
      .toSorted((a, b) => a.localeCompare(b)),
    timers: vi.getTimerCount(),
  }
}

const spanOf = ({ name, status, attributes, duration }: ReadableSpan) => ({ name, status, attributes, duration })

const statusesOf = (run: AgentRun, ids: readonly string[]) => ids.map((id) => run.toolStatus(id))

/** Without the parts that belong to others in each run. */
function plain({ runId: _, ...event }: AgentEvent): object {
  if (event.type !== 'run-end') return event
  const { messages, status, abandoned } = event.result
  return { ...event, result: { messages, status, abandoned } }
}

test.for(Object.entries(works))(
  'a call that %s is reported in the same way, whether its tool or the middleware limits its time (P14, I10, N11)',
  async ([, work]) => {
    const own = await told('its tool', work)
    expect(own.reasons[0]).toMatch('ToolTimeoutError')
    expect(await told('the middleware', work)).toEqual(own)
  },
)

test.for(['its tool', 'the middleware'] as const)(
  'a call that %s cut off is not made again after a resume: the outer wrap gets the same error again (P14, L8)',
  async (limit) => {
    vi.useFakeTimers({ now: 1_000_000 })
    const executed: number[] = []
    const work = tool({
      name: 'work',
      description: 'w',
      input: z.object({}),
      effect: 'read',
      ...(limit === 'its tool' && { timeout: LIMIT }),
      execute: (_, { attempt, answers }) => {
        executed.push(attempt)
        if (attempt === 1) return later(150, () => 'late')
        if (answers.length === 0) throw interrupt('Once more?')
        return 'the second time'
      },
    }) as Tool
    const errors: unknown[] = []
    const notes: Middleware = {
      name: 'notes',
      async *wrapToolCall(call, next) {
        try {
          return yield* next(call)
        } catch (error) {
          errors.push(error)
          throw error
        }
      },
    }
    const agent = createAgent({
      model: scriptedModel([respond(call('work')), respond(say('Done.'))]),
      tools: [work],
      middleware: [
        retryTool({ random: () => 0 }),
        ...(limit === 'the middleware' ? [timeout({ tool: LIMIT })] : []),
        notes,
      ],
    })
    const { checkpoint, interrupts = [] } = await played(agent.run('Go'))
    const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 'Yes.']))
    const { messages } = await played(agent.resume(checkpoint ?? '', answers).result)
    expect(executed).toEqual([1, 2, 3])
    expect(messages[2]).toMatchObject({ output: 'the second time' })
    // Nothing inside is notified of what the middleware outside does.
    const heard = errors.filter((error) => !(error instanceof Interrupt))
    expect(heard).toEqual(Array(limit === 'its tool' ? 2 : 1).fill(new ToolTimeoutError('work', LIMIT)))
  },
)

test.for(['its tool', 'the middleware'] as const)(
  'a call that %s cut off, and that continues when it is discarded, is reported as not undone (P14, H23)',
  async (limit) => {
    vi.useFakeTimers({ now: 1_000_000 })
    const undone: unknown[] = []
    const book = tool({
      name: 'book',
      description: 'b',
      input: z.object({}),
      effect: 'reversible',
      ...(limit === 'its tool' && { timeout: LIMIT }),
      execute: () => later(1_000, () => 'booked'),
      compensate: (_, output) => void undone.push(output),
    }) as Tool
    const model = scriptedModel([respond(call('book', {}, { id: 'c1' }), wait(2_000), end({ finishReason: 'other' }))])
    const limits = limit === 'the middleware' ? [timeout({ tool: LIMIT })] : []
    const agent = createAgent({ model, tools: [book], middleware: [early, ...limits], grace: GRACE })
    const { warnings, abandoned } = await played(agent.run('Go'))
    expect(warnings).toMatchObject([{ code: 'compensation-failed', message: expect.stringContaining('not undone') }])
    expect(abandoned).toEqual(['c1'])
    expect(undone).toEqual([])
  },
)

test('a call that exceeds its limit before it has started has timed out, and nothing of it continues (P14, N11)', async () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapToolCall(call, next, run) {
      await abortOf(run.signal)
      return yield* next(call)
    },
  }
  const abortOf = (signal: AbortSignal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const run = createAgent({
    model: scriptedModel([respond(call('inner', {}, { id: 'c1' })), respond(say('Done.'))]),
    tools: [inner],
    middleware: [timeout({ tool: LIMIT }), slowly],
  }).stream('Go')
  const { abandoned } = await played(run.result)
  expect(run.toolStatus('c1')).toEqual({ state: 'timed-out', cancelable: true, endedAt: 1_000_100 })
  expect(abandoned).toBeUndefined()
})

test('work that any wrap leaves behind, and that continues beyond its grace time, is abandoned: it is listed, and its span has not settled (P14, C15)', async () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const exporter = new InMemorySpanExporter()
  const hasty: Middleware = {
    name: 'hasty',
    async *wrapToolCall(call, next) {
      void next(call).next()
      await sleep(50)
      return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'Never mind.' }] }
    },
  }
  const agent = createAgent({
    model: scriptedModel([respond(call('inner', {}, { id: 'c1' })), respond(say('Done.'))]),
    tools: [inner],
    middleware: [hasty],
    grace: GRACE,
    telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }) },
  })
  const run = agent.stream('Go')
  const result = await played(run.result)
  expect(result).toMatchObject({ abandoned: ['c1'], messages: [{}, {}, { content: [{ text: 'Never mind.' }] }, {}] })
  expect(run.toolStatus('c1')).toMatchObject({ state: 'ok', endedAt: 1_000_350 })
  const span = exporter.getFinishedSpans().find(({ name }) => name === 'execute_tool inner')
  expect(span?.attributes).toMatchObject({ 'meanwhile.outcome': 'abandoned', 'meanwhile.settled': false })
  expect(span?.status.code).toBe(0)
})
