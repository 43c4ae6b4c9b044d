import Anthropic from '@anthropic-ai/sdk'
import { fail, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, ModelError } from '@meanwhile/core'
import { mockModels, rawResponse, WIRE_NAMES, type WireName } from '@meanwhile/harness'
import { otlpReceiver } from '@meanwhile/harness/otlp'
import { aiSdk } from '@meanwhile/models/ai-sdk'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'

// Providers may put any text, of any length, into any member of an error. It is not posted on any wire.

const WORD = `${'quota_of_tenant_4711_'.repeat(266)}gone`

function modelOf(wire: WireName, fetch: typeof globalThis.fetch): Model {
  const options = { apiKey: 'none', maxRetries: 0, logLevel: 'off', fetch } as const
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'm' })
  return openai({ client: new OpenAI(options), model: 'm', api: wire === 'openai-chat' ? 'chat' : 'responses' })
}

/** The posted spans and metrics of a run with this model. */
async function postedBy(model: Model) {
  const receiver = await otlpReceiver()
  onTestFinished(() => receiver.close())
  const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` })
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const metrics = new OTLPMetricExporter({ url: `${receiver.url}/v1/metrics` })
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: metrics })] })
  const agent = createAgent({ model, telemetry: { tracerProvider, meterProvider } })
  const error: unknown = await agent.run('Go.').catch((error: unknown) => error)
  await tracerProvider.shutdown()
  await meterProvider.shutdown()
  const { spans, points, requests } = receiver
  const typeOf = (all: readonly { name: string; attributes: Readonly<Record<string, unknown>> }[], name: string) =>
    all.find((one) => one.name === name)?.attributes['error.type']
  return {
    data: error instanceof ModelError ? JSON.stringify(error.data) : undefined,
    chat: typeOf(spans, 'chat m'),
    run: typeOf(spans, 'invoke_agent'),
    measured: typeOf(points, 'gen_ai.client.inference.duration'),
    said: JSON.stringify(requests),
  }
}

const both = (type: string) => ({ chat: type, measured: type, run: 'ModelError' })

test.each(WIRE_NAMES)('on %s the type of an error inside the stream is its status, or _OTHER (P13)', async (wire) => {
  const failing = (code: string) => mockModels({ script: [respond(say('So'), fail({ code }))], wires: [wire] }).fetch
  const known = await postedBy(modelOf(wire, failing('invalid_request_error')))
  expect(known).toMatchObject(both('400'))
  for (const code of ['tenant_quota', WORD]) {
    const posted = await postedBy(modelOf(wire, failing(code)))
    // OpenAI's errors have a type as well as a code. The type implies a status.
    expect(posted).toMatchObject(both(wire === 'anthropic' ? '_OTHER' : '500'))
    expect(posted.data).toContain(code)
    expect(posted.said).not.toContain('tenant')
  }
})

test.each(WIRE_NAMES)('on %s the type of an error response is only its status (P13)', async (wire) => {
  const { fetch } = mockModels({ script: [respond(fail({ status: 418, code: WORD }))], wires: [wire] })
  const posted = await postedBy(modelOf(wire, fetch))
  expect(posted).toMatchObject(both('418'))
  expect(posted.data).toContain(WORD)
  expect(posted.said).not.toContain('tenant')
})

const members: readonly (readonly [WireName, string, object])[] = [
  ['openai-chat', 'type', { error: { type: WORD, message: 'no' } }],
  ['openai-chat', 'code and type', { error: { code: WORD, type: WORD, message: 'no' } }],
  ['openai-chat', 'whole body', { error: WORD }],
  ['openai-responses', 'code of the event', { type: 'error', code: WORD, message: 'no' }],
  [
    'openai-responses',
    'code of the response',
    { type: 'response.failed', response: { status: 'failed', error: { code: WORD, message: 'no' } } },
  ],
  ['anthropic', 'type', { type: 'error', error: { type: WORD, message: 'no' } }],
]

test.each(members)('on %s the words in an error’s %s are not posted (P13)', async (wire, _, event) => {
  const posted = await postedBy(modelOf(wire, mockModels({ script: [rawResponse([{ event }], { wire })] }).fetch))
  expect(posted).toMatchObject(both(String(posted.chat)))
  expect(posted.chat).toMatch(/^(_OTHER|[A-Z]\w{0,30})$/)
  expect(posted.data).toContain(WORD)
  expect(posted.said).not.toContain('tenant')
})

const told: readonly (readonly [string, unknown, string])[] = [
  ['a word', WORD, '_OTHER'],
  ['an object', { code: WORD, type: WORD, message: 'no' }, '_OTHER'],
  ['an error with its own name', Object.assign(new Error('no'), { name: 'QuotaOfTenant' }), '_OTHER'],
  [
    'an error of its client',
    { message: 'no', code: WORD, type: WORD, statusCode: 429, isRetryable: true, responseBody: WORD },
    '429',
  ],
]

test.each(told)(
  'through the AI SDK, the words of an error that the provider sends as %s, %o, are not posted (P13)',
  async (_, error, type) => {
    const parts = [{ type: 'error', error }]
    const model = aiSdk({
      specificationVersion: 'v4',
      provider: 'own.chat',
      modelId: 'm',
      supportedUrls: {},
      doStream: async () => ({ stream: ReadableStream.from(parts) }),
    } as Parameters<typeof aiSdk>[0])
    const posted = await postedBy(model)
    expect(posted).toMatchObject(both(type))
    if (JSON.stringify(error)?.includes(WORD)) expect(posted.data).toContain(WORD)
    expect(posted.said).not.toMatch(/tenant/i)
  },
)
