import { OpenTelemetry } from '@ai-sdk/otel'
import { spanOutline } from '@meanwhile/harness/otlp'
import { sleep } from '@meanwhile/tests/clock'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { isStepCount, streamText, tool } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { answer, call, finish, model, wait, whole } from '../../test/sdk.ts'
import { eager } from './index.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

beforeAll(() => {
  trace.setGlobalTracerProvider(tracerProvider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => {
  trace.disable()
  context.disable()
})

/** The spans of a run in an application with the AI SDK's own telemetry. */
async function spansOf(isEager: boolean): Promise<string> {
  exporter.reset()
  const tracer = trace.getTracer('app')
  const look = tool({
    inputSchema: z.object({ q: z.string() }),
    execute: () =>
      tracer.startActiveSpan('db.query', async (span) => {
        await sleep(10)
        span.end()
        return 'ok'
      }),
  })
  const options = {
    model: model([
      [...whole('1'), ...whole('2', '{"q":"b"}'), wait(30), call('1'), call('2', '{"q":"b"}'), finish()],
      answer,
    ]),
    tools: { look },
    stopWhen: isStepCount(3),
    prompt: 'go',
    telemetry: { isEnabled: true, integrations: [new OpenTelemetry()] },
  }
  await tracer.startActiveSpan('POST /chat', async (span) => {
    await streamText(isEager ? eager(options, { look: 'read' }) : options).text
    span.end()
  })
  await sleep(20)
  return spanOutline(exporter.getFinishedSpans())
}

test('each early call has one span of eager() under the active span, and no run or model call has one (R8)', async () => {
  expect(await spansOf(false)).toBe(`\
POST /chat
  invoke_agent m
    step 1
      chat m
      execute_tool look
        db.query
      execute_tool look
        db.query
    step 2
      chat m`)
  // The AI SDK's own spans of the calls measure how long it waited for them.
  expect(await spansOf(true)).toBe(`\
POST /chat
  invoke_agent m
    step 1
      chat m
        execute_tool look
          db.query
        execute_tool look
          db.query
      execute_tool look
      execute_tool look
    step 2
      chat m`)
  const ours = exporter
    .getFinishedSpans()
    .filter(({ instrumentationScope }) => instrumentationScope.name.startsWith('@meanwhile'))
  expect(
    ours.map(({ name, attributes }) => [name, attributes['gen_ai.tool.call.id'], attributes['meanwhile.outcome']]),
  ).toEqual([
    ['execute_tool look', '1', 'committed'],
    ['execute_tool look', '2', 'committed'],
  ])
})
