import Anthropic from '@anthropic-ai/sdk'
import { call, fail, respond, say, think } from '@meanwhile/assemble/testing'
import { type AgentOptions, createAgent, type Middleware, type Model, ModelError, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels, WIRE_NAMES, type WireName } from '@meanwhile/harness'
import { assertNoContent, assertNotSent } from '@meanwhile/harness/assert'
import { otlpReceiver } from '@meanwhile/harness/otlp'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

// A word that must not leave the process is in everything that users, models, tools and providers write. The test searches all posted data for it.

const CANARY = 'canary-4711'
const said = (where: string) => `${where} says “${CANARY}”`

/** An application with an SDK, set up after the packages were imported, that posts spans and metrics to the receiver. */
async function setup() {
  const receiver = await otlpReceiver()
  const traces = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` }) })
  const tracerProvider = new TracerProvider({ spanProcessors: [traces] })
  const exporter = new OTLPMetricExporter({ url: `${receiver.url}/v1/metrics` })
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  trace.setGlobalTracerProvider(tracerProvider)
  metrics.setGlobalMeterProvider(meterProvider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(async () => {
    for (const api of [trace, metrics, context]) api.disable()
    await receiver.close()
  })
  // The application's own metric, so that there is always a payload of metrics to search.
  meterProvider.getMeter('app').createCounter('app.visits').add(1)
  return {
    async sent() {
      await tracerProvider.shutdown()
      await meterProvider.shutdown()
      return receiver
    },
  }
}

function modelOf(wire: WireName, fetch: typeof globalThis.fetch): Model {
  const options = { apiKey: 'none', maxRetries: 0, logLevel: 'off', fetch } as const
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'mock-1' })
  return openai({
    client: new OpenAI(options),
    model: 'mock-1',
    api: wire === 'openai-chat' ? 'chat' : 'responses',
  })
}

class CustomError extends Error {
  override readonly name = 'CustomError'
}

const input = z.object({ note: z.string() })
const tools = [
  tool({ name: 'look', description: said('look'), input, effect: 'read', execute: () => said('the result') }),
  tool({
    name: 'break',
    description: said('break'),
    input,
    execute() {
      throw new CustomError(said('the error'), { cause: new Error(said('the cause')) })
    },
  }),
  tool({ name: 'strict', description: 's', input: z.object({ note: z.literal('no') }), execute: () => 'never' }),
]

const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      yield { type: 'attempt-failed', error, next: 'retry' }
      return yield* next(request)
    }
  },
}

const script = [
  respond(fail({ status: 429, message: said('the provider') })),
  respond(
    think(said('the thought')),
    say(said('the text')),
    call('look', { note: said('the argument') }),
    call('break', { note: said('the argument') }),
    call('strict', { note: said('what the schema refuses') }),
    call(`${CANARY}_tool`, { note: said('what nobody takes') }),
  ),
  respond(call('look', `{"note": "${CANARY}`), say(said('broken JSON'))),
  respond(say(said('the answer'))),
]

async function run(wire: WireName, more: Partial<AgentOptions> = {}) {
  const mock = mockModels({ script, wires: [wire] })
  const agent = createAgent({
    name: 'careful',
    description: said('the description'),
    instructions: said('the instruction'),
    model: modelOf(wire, mock.fetch),
    tools,
    middleware: [again, eagerTools()],
    ...more,
  })
  return await agent.run(said('the prompt'))
}

/** The metrics that every wire has. Those of tokens depend on what the wire counts. */
const METRICS: readonly unknown[] = expect.arrayContaining([
  'app.visits',
  'gen_ai.client.inference.duration',
  'gen_ai.execute_tool.duration',
  'gen_ai.invoke_agent.duration',
  'meanwhile.tool_calls',
])

test.each(WIRE_NAMES)(
  'posted data contains no prompts, arguments, results, errors or invented names, on %s',
  async (wire) => {
    const app = await setup()
    const { text, messages } = await run(wire)
    expect(text).toBe(said('the answer'))
    // The word was there to be found.
    for (const where of ['the prompt', 'the argument', 'the result', 'the error', 'the text']) {
      expect(JSON.stringify(messages)).toContain(said(where))
    }

    const { spans, points, requests } = await app.sent()
    expect(points.map(({ name }) => name)).toEqual(METRICS)
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(['/v1/traces', '/v1/metrics']))
    expect(spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'invoke_agent careful',
        'chat mock-1',
        'execute_tool look',
        'execute_tool break',
        'execute_tool strict',
        'execute_tool',
        'middleware again wrapModel',
      ]),
    )
    const errors = spans.map(({ attributes }) => attributes['error.type']).filter((type) => type !== undefined)
    expect(errors).toEqual(expect.arrayContaining(['429', 'CustomError', 'invalid_input', 'unknown_tool']))
    assertNotSent(requests, [CANARY])
    assertNoContent(spans)
  },
)

test('posted data does not contain what a run, a hook or your own model throws', async () => {
  const app = await setup()
  const throwing = (name: string): Middleware => ({
    name,
    beforeModel() {
      throw new CustomError(said('a hook'))
    },
  })
  const wrapping: Middleware = {
    name: 'wrapping',
    async *wrapToolCall() {
      throw new CustomError(said('a wrap'))
    },
  }
  await expect(run('openai-chat', { middleware: [throwing('throwing')] })).rejects.toThrow(CANARY)
  await expect(run('openai-chat', { middleware: [] })).rejects.toThrow(CANARY)
  await run('openai-chat', { middleware: [again, wrapping] })

  const { spans, requests } = await app.sent()
  expect(spans.filter(({ name }) => name === 'invoke_agent careful').map(({ status }) => status.code)).toEqual([
    2, 2, 0,
  ])
  assertNotSent(requests, [CANARY])
  assertNoContent(spans)
})
