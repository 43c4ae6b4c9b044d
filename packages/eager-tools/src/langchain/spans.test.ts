import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import {
  answer,
  begin,
  human,
  looks,
  more,
  type Played,
  plainAndEager,
  played,
  shown,
  text,
  wait,
} from '../../test/langchain.ts'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => context.disable())
beforeEach(() => {
  vi.useFakeTimers()
  exporter.reset()
})
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
const settings = { telemetry: { tracerProvider } }

/** The run within a span of the user. */
const within: NonNullable<Played['go']> = (agent) => {
  const tracer = tracerProvider.getTracer('app')
  return tracer.startActiveSpan('chat of the app', async (span) => {
    const messages = shown(await agent.invoke(human()))
    span.end()
    return messages
  })
}

test('each early call has one execute_tool span under the active one, and there is no other span (R8)', async () => {
  const response = [
    begin(0, '1', 'look'),
    more(0, '{"q":"a"}'),
    begin(1, '2', 'look'),
    more(1, '{"q":"b"}'),
    begin(2, '3', 'send'),
    more(2, '{"q":"c"}'),
    wait(100),
    text('x'),
  ]
  await played({ settings, go: within, responses: [response, answer] }, true)
  const spans = exporter.getFinishedSpans()
  const [app] = spans.filter(({ name }) => name === 'chat of the app')
  const ours = spans.filter((span) => span !== app)
  expect(ours.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual(
    ['1', '2'].map(() => ['execute_tool look', app?.spanContext().spanId]),
  )
  expect(ours.map(({ attributes }) => [attributes['gen_ai.tool.call.id'], attributes['meanwhile.outcome']])).toEqual([
    ['1', 'committed'],
    ['2', 'committed'],
  ])
})

test('without an early call there is no span (R8)', async () => {
  const response = [begin(0, '1', 'send'), more(0, '{"q":"c"}'), wait(100), text('x')]
  await played({ settings, responses: [response, answer] }, true)
  expect(exporter.getFinishedSpans()).toEqual([])
})

test('in the function of a tool the early span is active, and the context of the run is available (R8)', async () => {
  const found: unknown[] = []
  const look = () => () => {
    const { traceId } = trace.getActiveSpan()?.spanContext() ?? {}
    found.push(traceId)
  }
  await played({ settings, look, go: within, responses: [looks(), answer] }, true)
  const [first, ...others] = exporter.getFinishedSpans().map((span) => span.spanContext().traceId)
  expect([found, others]).toEqual([[first], [first]])
})

test('LangChain reports a joined tool once, with its own name (R8)', async () => {
  const told: string[] = []
  class Telling extends BaseCallbackHandler {
    override readonly name = 'telling'
    override handleToolStart(
      ...[, input, , , , , name, id]: Parameters<NonNullable<BaseCallbackHandler['handleToolStart']>>
    ): void {
      told.push(`${name} ${id} ${JSON.stringify(input)}`)
    }
  }
  const came = await plainAndEager({ config: () => ({ callbacks: [new Telling()] }), responses: [looks(), answer] })
  expect(came.eager.log).toHaveLength(1)
  expect(told).toHaveLength(2)
  expect(told[1]).toBe(told[0])
})
