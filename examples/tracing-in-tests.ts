// What your own tests can check in spans: the tree, which call belongs to which model call, what overlapped, and that nothing private was sent.
// The exporter is real; the collector is the harness's receiver. Any test runner works: failed checks throw.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import {
  assertChildOf,
  assertLinked,
  assertNotSent,
  assertOverlap,
  assertSpanTree,
  spanNamed,
  watchSpans,
} from '@meanwhile/harness/assert'
import { otlpReceiver } from '@meanwhile/harness/otlp'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { z } from 'zod'

const receiver = await otlpReceiver()
const ends = watchSpans()
const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` })
const tracerProvider = new TracerProvider({ spanProcessors: [ends, new BatchSpanProcessor({ exporter })] })

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})
const agent = createAgent({
  name: 'trip_planner',
  model: scriptedModel([respond(call('weather', { city: 'Rome' }), say('One moment.')), respond(say('Sunny.'))], {
    pace: { firstToken: 20, betweenTokens: 20 },
  }),
  tools: [weather],
  middleware: [eagerTools()],
  telemetry: { tracerProvider },
})
await agent.run('What is the weather in Rome?')
await tracerProvider.shutdown()

const { spans, requests } = await receiver.waitFor(({ spans }) => spans.length >= 7)
await receiver.close()
ends.assertEndedOnce()
assertSpanTree(
  spans,
  `
    invoke_agent trip_planner {"meanwhile.outcome":"completed"}
      middleware eager-tools wrapAgent
        middleware eager-tools wrapModel
          chat scripted-1 {"meanwhile.outcome":"completed"}
        execute_tool weather {"meanwhile.outcome":"committed"}
        middleware eager-tools wrapModel
          chat scripted-1 {"meanwhile.outcome":"completed"}
  `,
  { attributes: ['meanwhile.outcome'] },
)
const looked = spanNamed(spans, 'execute_tool weather')
const asked = spans.find(
  ({ name, attributes }) => name === 'chat scripted-1' && attributes['meanwhile.step.index'] === 1,
)
if (!asked) throw new Error('the first step has no model call')
assertChildOf(looked, spanNamed(spans, 'middleware eager-tools wrapAgent'))
assertLinked(looked, asked)
assertOverlap(looked, asked)
assertNotSent(requests, ['Rome', 'Sunny'])
console.log(`${spans.length} spans, all correct`)
