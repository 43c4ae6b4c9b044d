// A run that the devtools show while it happens: `npm run devtools` in another terminal (docs/devtools.md). Without them it runs as before.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { devtools } from '@meanwhile/devtools/processor'
import { eagerTools } from '@meanwhile/eager-tools'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

// No metrics: the page drops them, and without a page the SDK waits eight seconds for it at the end.
const sdk = new NodeSDK({ serviceName: 'trip-planner', spanProcessors: [devtools()], metricReaders: [] })
sdk.start()

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }, { signal }) => wait(1_500, `Sunny in ${city}.`, { signal }),
})
const hotels = tool({
  name: 'hotels',
  description: 'Hotels in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }, { signal }) => wait(600, `Casa do Rio, ${city}.`, { signal }),
})
const script = [
  respond(
    call('weather', { city: 'Lisbon' }),
    call('hotels', { city: 'Lisbon' }),
    say('I am asking for the weather and for hotels, and meanwhile I am thinking about the trains from the airport.'),
  ),
  respond(say('It is sunny in Lisbon, and Casa do Rio has a room.')),
]
const model = modelOr(script, { firstToken: 300, betweenTokens: 80 })
const agent = createAgent({
  name: 'trip_planner',
  model,
  tools: [weather, hotels],
  middleware: [eagerTools()],
  // Prompts, arguments and results, too: without it the page shows times only.
  telemetry: { captureContent: true },
})

const { text } = await agent.run('Plan a weekend in Lisbon.')
console.log(text)
await sdk.shutdown()
