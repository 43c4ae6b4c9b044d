import { OpenTelemetry } from '@ai-sdk/otel'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { APICallError, streamText } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { begin, breaks, finish, model, text } from '../../test/broken-models.ts'
import { resilient } from './index.ts'

const exporter = new InMemorySpanExporter()

beforeAll(() => {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => {
  trace.disable()
  context.disable()
})

test('the span of the model call has the number of attempts and an event for each failed one, without content (RS10)', async () => {
  const refused = new APICallError({ message: 'secret', url: 'http://m', requestBodyValues: {}, statusCode: 503 })
  const attempts = [[breaks(refused)], [begin, ...text('Well').slice(0, -1)], [begin, ...text('Well.'), finish()]]
  const telemetry = { isEnabled: true, integrations: [new OpenTelemetry()] }
  const over = resilient([model(attempts)], { backoff: { baseDelay: 0 } })
  expect(await streamText({ model: over, prompt: 'go', telemetry }).text).toBe('Well.')
  const spans = exporter.getFinishedSpans().filter(({ attributes }) => 'meanwhile.resilient.attempts' in attributes)
  expect(spans.map(({ name, attributes }) => [name, attributes['meanwhile.resilient.attempts']])).toEqual([
    ['chat m', 3],
  ])
  expect(spans[0]?.events.map(({ name, attributes }) => ({ name, ...attributes }))).toEqual([
    {
      name: 'meanwhile.resilient.attempt_failed',
      'meanwhile.attempt': 1,
      'error.type': '503',
      'meanwhile.resilient.shown': 0,
    },
    {
      name: 'meanwhile.resilient.attempt_failed',
      'meanwhile.attempt': 2,
      'error.type': 'stream_truncated',
      'meanwhile.resilient.shown': 4,
    },
  ])
})
