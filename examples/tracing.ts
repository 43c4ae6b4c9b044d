// Spans of a run, sent to Jaeger or another collector on localhost:4318 (docs/jaeger.md says how to start one). Ctrl-C loses none.

import { setTimeout as wait } from 'node:timers/promises'
import { createAgent, tool } from '@meanwhile/core'
import { call, respond, say } from '@meanwhile/core/testing'
import { eagerTools } from '@meanwhile/eager-tools'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

// Better said in the environment, where it can be changed: these are but defaults.
process.env.OTEL_SERVICE_NAME ??= 'trip-planner'
process.env.OTEL_METRICS_EXPORTER ??= 'none' // Jaeger takes traces alone
process.env.OTEL_LOGS_EXPORTER ??= 'none'
process.env.OTEL_EXPORTER_OTLP_TIMEOUT ??= '1000' // a collector that is not there costs a second, not eight
process.env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env' // no host name, no command line

// All of the set-up.
const sdk = new NodeSDK()
sdk.start()
const flush = () => sdk.shutdown().catch(({ message, code }) => console.error('traces not sent:', message || code))

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  async execute({ city }, { signal }) {
    await wait(500, undefined, { signal })
    return `Sunny in ${city}.`
  },
})
const agent = createAgent({
  name: 'trip_planner',
  model: modelOr(
    [respond(call('weather', { city: 'Rome' }), say('One moment, I am asking.')), respond(say('Sunny.'))],
    { firstToken: 100, betweenTokens: 50 },
  ),
  tools: [weather],
  middleware: [eagerTools()],
})

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
try {
  const run = agent.stream('What is the weather in Rome?', { signal: stop.signal })
  for await (const event of run) {
    if (event.type === 'tool-start') console.log(`${event.call.name} starts while the model speaks`)
  }
  console.log((await run.result).text)
} catch (error) {
  if (!stop.signal.aborted) throw error
  process.exitCode = 130
} finally {
  await flush()
}
