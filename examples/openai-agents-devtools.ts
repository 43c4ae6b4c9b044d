// A run of the OpenAI Agents SDK that the devtools show while it happens: `npm run devtools` in another terminal (docs/devtools.md). No key: an
// endpoint of the harness answers.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { agentsTraceProcessor } from '@meanwhile/devtools/openai-agents'
import { devtools } from '@meanwhile/devtools/processor'
import { mockModels } from '@meanwhile/harness'
import { Agent, addTraceProcessor, OpenAIProvider, Runner, setTraceProcessors, tool } from '@openai/agents'
import { NodeSDK } from '@opentelemetry/sdk-node'
import OpenAI from 'openai'
import { z } from 'zod'

const sdk = new NodeSDK({ serviceName: 'travel', spanProcessors: [devtools()] })
sdk.start()
setTraceProcessors([]) // the SDK's own, which sends to OpenAI
addTraceProcessor(agentsTraceProcessor())

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
})
const script = [respond(call('weather', { city: 'Oslo' })), respond(say('It is sunny in Oslo.'))]
const { fetch } = mockModels({ script, pace: { firstToken: 200, betweenTokens: 40 } })
const modelProvider = new OpenAIProvider({ openAIClient: new OpenAI({ apiKey: 'none', fetch }) })
const agent = new Agent({ name: 'Travel', model: 'scripted-1', tools: [weather] })
const result = await new Runner({ modelProvider }).run(agent, 'How is the weather in Oslo?', { stream: true })
await result.completed
console.log(result.finalOutput)
await sdk.shutdown()
