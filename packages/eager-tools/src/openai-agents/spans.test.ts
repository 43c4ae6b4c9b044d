import { AsyncLocalStorage } from 'node:async_hooks'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import {
  Agent,
  getCurrentSpan,
  Runner,
  type Span,
  type SpanData,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  withCustomSpan,
} from '@openai/agents'
import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, consumed, done, one, Q, requested, Script, sealed } from '../../test/agents.ts'
import { loadInternals } from './early-tools.ts'
import { eager } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  context.disable()
  setTraceProcessors([])
  setTracingDisabled(true)
})

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

/** A minimal version of the context manager of OpenTelemetry's SDK for Node. */
function manageContext(): void {
  const storage = new AsyncLocalStorage<Context>()
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => Reflect.apply(work, self, args)),
    bind: (_, target) => target,
    enable() {
      return this
    },
    disable() {
      storage.disable()
      return this
    },
  })
}

const look = (execute: (input: { q: string }) => unknown) =>
  tool({
    name: 'look',
    description: 'l',
    parameters: z.object({ q: z.string() }),
    execute: async (input) => execute(input),
  })

test('each early call has one execute_tool span under the host’s span, and there is no other (R8)', async () => {
  exporter.reset()
  manageContext()
  const tracer = tracerProvider.getTracer('host')
  const model = new Script([
    [
      ...sealed('1'),
      ...sealed('2', 'look', Q, 1),
      ...sealed('3', 'send', Q, 2),
      50,
      done(requested('1'), requested('3', 'send')),
    ],
    answer,
  ])
  const inside: (string | undefined)[] = []
  const runner = eager(
    new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true }),
    { look: 'read' },
    { telemetry: { tracerProvider }, independent: ['send'] },
  )
  await loadInternals()
  const seen = look(() => void inside.push(trace.getActiveSpan()?.spanContext().spanId))
  const send = tool({ name: 'send', description: 's', parameters: z.object({ q: z.string() }), execute: () => 'sent' })
  const agent = new Agent({ name: 'a', model: 's', tools: [seen, send] })
  const going = tracer.startActiveSpan('chat of the host', async (span) => {
    await consumed(await runner.run(agent, 'go', { stream: true }))
    span.end()
  })
  await vi.advanceTimersByTimeAsync(1_000)
  await going
  const spans = exporter.getFinishedSpans()
  const host = spans.find(({ name }) => name === 'chat of the host')
  const ours = spans.filter((span) => span !== host)
  expect(
    ours.map(({ name, attributes, parentSpanContext }) => [
      name,
      attributes['gen_ai.tool.call.id'],
      attributes['meanwhile.outcome'],
      parentSpanContext?.spanId === host?.spanContext().spanId,
    ]),
  ).toEqual([
    ['execute_tool look', '1', 'committed', true],
    ['execute_tool look', '2', 'discarded', true],
  ])
  expect(inside).toEqual(ours.map((span) => span.spanContext().spanId))
})

interface SdkSpan {
  readonly id: string
  readonly parent: string | null
  readonly data: SpanData
  readonly error: unknown
}

/** The SDK's own spans of a run in which the only tool opens a span and throws. */
async function sdkSpans(isEager: boolean, tracingDisabled = false): Promise<SdkSpan[]> {
  const spans: SdkSpan[] = []
  setTracingDisabled(false)
  setTraceProcessors([
    {
      onTraceStart: async () => undefined,
      onTraceEnd: async () => undefined,
      onSpanStart: async () => undefined,
      onSpanEnd: async (span: Span<SpanData>) =>
        void spans.push({ id: span.spanId, parent: span.parentId, data: span.spanData, error: span.error }),
      shutdown: async () => undefined,
      forceFlush: async () => undefined,
    },
  ])
  const model = new Script([one(), answer])
  const plain = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled })
  const runner = isEager ? eager(plain, { look: 'read' }) : plain
  await loadInternals()
  const opens = look(() => {
    // As the SDK's own tools of MCP servers do.
    Object.assign(getCurrentSpan()?.spanData ?? {}, { mcp_data: { server: 'm' } })
    return withCustomSpan(async () => undefined, { data: { name: 'of the tool', data: {} } }).then(() => {
      throw new Error('broken')
    })
  })
  const going = runner.run(new Agent({ name: 'a', model: 's', tools: [opens] }), 'go', { stream: true }).then(consumed)
  await vi.advanceTimersByTimeAsync(1_000)
  await going
  return spans
}

test('SDK spans that a tool opens nest under its turn’s, and neither turn nor agent is marked as failed (R8)', async () => {
  const plain = await sdkSpans(false)
  const early = await sdkSpans(true)
  expect([await sdkSpans(false, true), await sdkSpans(true, true)]).toEqual([[], []])
  const told = (spans: SdkSpan[]) => spans.map(({ data }) => data.type).toSorted()
  expect(told(early)).toEqual(told(plain))
  const agent = early.find(({ data }) => data.type === 'agent')
  const turn = early.find(({ data }) => data.type === 'turn')
  const own = early.find(({ data }) => data.type === 'custom')
  expect(own?.parent).toBe(turn?.id)
  expect([turn?.error, agent?.error, agent?.data]).toEqual([
    null,
    null,
    plain.find(({ data }) => data.type === 'agent')?.data,
  ])
})

test('the SDK’s own spans have the same data and errors, also what a tool sets on the span of its call (W48)', async () => {
  const told = (spans: SdkSpan[]) =>
    spans.filter(({ data }) => data.type !== 'custom').map(({ data, error }) => ({ data, error }))
  const plain = told(await sdkSpans(false))
  const early = await sdkSpans(true)
  expect(told(early)).toEqual(plain)
  // Our own span of the early call is there, too.
  expect(early.filter(({ data }) => data.type === 'custom')).toHaveLength(1)
  expect(plain.find(({ data }) => data.type === 'function')).toMatchObject({
    data: { mcp_data: { server: 'm' } },
    error: { data: { tool_name: 'look' } },
  })
})
