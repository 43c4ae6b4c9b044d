import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { SimpleSpanProcessor, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { countRuns } from '../../test/counted-runs.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import {
  type AgentEvent,
  type AgentOptions,
  agentTool,
  createAgent,
  type Middleware,
  type Run,
  type TelemetryOptions,
  type Tool,
  tool,
} from '../index.ts'

// Observers: whatever they do, the run is the same as without them.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  vi.setSystemTime(0)
  return () => vi.useRealTimers()
})

const no = (): never => {
  throw new Error('no')
}

/** Every method throws. */
const throwing: SpanProcessor = {
  onStart: no,
  onEnd: no,
  onEnding: no,
  forceFlush: () => Promise.reject(new Error('no')),
  shutdown: () => Promise.reject(new Error('no')),
}
const nothing = () => undefined
const SILENT_PROCESSOR: SpanProcessor = {
  onStart: nothing,
  onEnd: nothing,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
}
const SILENT = { error: nothing, warn: nothing, info: nothing, debug: nothing, verbose: nothing }
const throwingExporter = { export: no, shutdown: () => Promise.reject(new Error('no')) }

const look: Tool = tool({
  name: 'look',
  description: 'l',
  input: z.object({ n: z.number() }),
  effect: 'read',
  async *execute({ n }) {
    yield { message: 'looking' }
    await sleep(n)
    if (n === 3) throw new Error('nothing to see')
    return n
  },
}) as Tool

/** A run with all kinds of spans: retries, early calls, one that fails, an agent in a call. */
async function ran(telemetry: TelemetryOptions) {
  const uncount = countRuns()
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(call('look', { n: 1 })), respond(say('In.'))]),
    tools: [look],
    telemetry,
  })
  const model = scriptedModel([
    respond(call('look', { n: 1 }, { id: 'a' }), fail()),
    respond(
      call('look', { n: 1 }, { id: 'b' }),
      call('look', { n: 3 }, { id: 'c' }),
      call('inner', { request: 'Go' }, { id: 'd' }),
      call('nowhere', {}, { id: 'e' }),
    ),
    respond(say('Done')),
  ])
  const hooks: Middleware = {
    name: 'hooks',
    beforeModel: () => undefined,
    async *wrapToolCall(one, next) {
      return yield* next(one)
    },
  }
  const agent = createAgent({
    model,
    tools: [look, agentTool(inner) as Tool],
    middleware: [askAgain, hooks, early],
    telemetry,
  })
  const reading = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  uncount()
  return JSON.parse(JSON.stringify({ events, result, error })) as object
}

const observers: Readonly<Record<string, () => TelemetryOptions>> = {
  'a span processor': () => ({ tracerProvider: new TracerProvider({ spanProcessors: [throwing] }) }),
  'an exporter': () => ({
    tracerProvider: new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: throwingExporter })] }),
  }),
  'a sampler': () => ({
    tracerProvider: new TracerProvider({ sampler: { shouldSample: no, toString: () => 'no' } }),
  }),
  'what captures content': () => ({ ...observed().telemetry, captureContent: no }),
}

test.each(Object.keys(observers).flatMap((who) => [false, true].map((isLogBroken) => ({ who, isLogBroken }))))(
  '$who that throws, with a log that throws: $isLogBroken, changes no event and no result (MA15)',
  async ({ who, isLogBroken }) => {
    const expected = await ran({})
    vi.setSystemTime(0)
    if (isLogBroken)
      diag.setLogger({ ...SILENT, error: no }, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true })
    try {
      expect(await ran(observers[who]?.() ?? {})).toEqual(expected)
    } finally {
      diag.disable()
    }
  },
)

test.each(['all', 'changed', 'none'] as const)(
  'spans of middleware, `%s`, change no event and no result, nor their order (MA15)',
  async (middleware) => {
    const expected = await ran({})
    vi.setSystemTime(0)
    expect(await ran({ ...observed().telemetry, middleware })).toEqual(expected)
  },
)

/** What the reader sees of calls, and what an observer emitted meanwhile. */
function toldIn(events: readonly AgentEvent[]): readonly string[] {
  const types = ['tool-start', 'tool-committed', 'tool-discarded', 'tool-end']
  return events.flatMap((event) => {
    if (event.type === 'custom') return [String(event.data)]
    return 'callId' in event && types.includes(event.type) ? [`${event.type} ${event.callId}`] : []
  })
}

/** Gives the run to observers. */
function keeping(keep: (run: Run) => void): Middleware {
  return {
    name: 'keeping',
    beforeAgent(_, run) {
      keep(run)
    },
  }
}

async function eventsOf(options: AgentOptions): Promise<readonly AgentEvent[]> {
  const reading = collect(createAgent(options).stream('Go'))
  await vi.runAllTimersAsync()
  return (await reading).events
}

test('what a span processor does when a call has ended comes after that end (MA15, B7)', async () => {
  let run: Run | undefined
  const telling: SpanProcessor = {
    ...SILENT_PROCESSOR,
    onEnd({ name, attributes }) {
      if (name.startsWith('execute_tool'))
        run?.emit({ name: 'seen', data: `seen ${String(attributes['gen_ai.tool.call.id'])}` })
    },
  }
  const model = scriptedModel([
    respond(call('look', { n: 1 }, { id: 'a' }), call('look', { n: 2 }, { id: 'b' }), wait(20)),
    respond(call('look', { n: 1 }, { id: 'c' }), call('nowhere', {}, { id: 'd' })),
    respond(say('Done')),
  ])
  const events = await eventsOf({
    model,
    tools: [look],
    middleware: [keeping((one) => (run = one)), early],
    telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [telling] }) },
  })
  const ended = toldIn(events).filter((line) => /^(tool-end|seen)/.test(line))
  expect(ended).toEqual(['a', 'b', 'd', 'c'].flatMap((id) => [`tool-end ${id}`, `seen ${id}`]))
})

test('calls that are discarded together are all reported before the abort of one reaches any code (MA15, B8)', async () => {
  let run: Run | undefined
  const hear = (callId: string) => run?.emit({ name: 'heard', data: `${callId} aborted` })
  const patient: Tool = tool({
    name: 'patient',
    description: 'p',
    input: z.object({}),
    effect: 'read',
    async execute(_, { signal, callId, run: view }) {
      signal.addEventListener('abort', () => hear(callId), { once: true })
      if (callId === 'a') void view?.callTool({ type: 'tool-call', id: 'of a', name: 'patient', input: {} })
      await sleep(100)
    },
  }) as Tool
  const events = await eventsOf({
    model: scriptedModel([respond(call('patient', {}, { id: 'a' }), call('patient', {}, { id: 'b' }), wait(20))]),
    tools: [patient],
    middleware: [keeping((one) => (run = one)), early, withdrawing()],
  })
  const calls = ['of a', 'a', 'b']
  expect(toldIn(events).slice(-6)).toEqual([
    ...calls.map((id) => `tool-discarded ${id}`),
    ...calls.map((id) => `${id} aborted`),
  ])
})
