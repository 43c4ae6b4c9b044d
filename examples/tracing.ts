// Spans of a run: printed as a tree when it has ended, and sent to Jaeger or another collector on localhost:4318, if one is running (docs/jaeger.md
// shows how to start it). Ctrl-C loses none.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { spanOutline } from '@meanwhile/harness/otlp'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

process.env.OTEL_METRICS_EXPORTER ??= 'none' // Jaeger only accepts traces
const memory = new InMemorySpanExporter()
const jaeger = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ timeoutMillis: 1_000 }) })
const spanProcessors = [new SimpleSpanProcessor({ exporter: memory }), jaeger]
const sdk = new NodeSDK({ serviceName: 'trip-planner', autoDetectResources: false, spanProcessors })
sdk.start()

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }, { signal }) => wait(500, `Sunny in ${city}.`, { signal }),
})
const script = [respond(call('weather', { city: 'Rome' }), say('One moment, I am asking.')), respond(say('Sunny.'))]
const model = modelOr(script, { firstToken: 100, betweenTokens: 50 })
const agent = createAgent({ name: 'trip_planner', model, tools: [weather], middleware: [eagerTools()] })

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
try {
  const run = agent.stream('What is the weather in Rome?', { signal: stop.signal })
  for await (const event of run) {
    if (event.type === 'tool-start') console.log(`${event.call.name} starts while the model is still streaming`)
  }
  console.log((await run.result).text)
} catch (error) {
  if (!stop.signal.aborted) throw error
  process.exitCode = 130
} finally {
  console.log(spanOutline(memory.getFinishedSpans(), { times: true }))
  await sdk.shutdown().catch(({ message, code }) => console.error('traces not sent:', message || code))
}
