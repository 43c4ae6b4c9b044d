// Spans of a run, sent by the OpenTelemetry SDK over OTLP. The collector here is the harness's receiver; yours may be Jaeger.

import { createAgent, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { eagerTools } from '@meanwhile/eager-tools'
import { otlpReceiver, spanOutline } from '@meanwhile/harness/otlp'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { z } from 'zod'

const receiver = await otlpReceiver()

// Five lines in an application: without the URL the exporter sends to localhost:4318, where Jaeger listens.
process.env.OTEL_METRICS_EXPORTER ??= 'none'
process.env.OTEL_LOGS_EXPORTER ??= 'none'
const traceExporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` })
const sdk = new NodeSDK({ serviceName: 'meanwhile-example', traceExporter })
sdk.start()

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})
const agent = createAgent({
  name: 'trip_planner',
  model: scriptedModel([respond(call('weather', { city: 'Rome' }), say('One moment.')), respond(say('Sunny.'))]),
  tools: [weather],
  middleware: [eagerTools()],
})

try {
  await agent.run('What is the weather in Rome?')
} finally {
  await sdk.shutdown().catch((error: Error) => console.error(`traces not sent: ${error.message}`))
}
console.log(spanOutline(receiver.spans, { attributes: ['meanwhile.dispatch.mode', 'meanwhile.outcome'] }))
await receiver.close()
