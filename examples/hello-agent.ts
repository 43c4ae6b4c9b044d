// An agent with one tool. With OPENAI_API_KEY set it calls the real model; without it, a mocked endpoint on the same wire.

import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const mock = mockModels({
  script: [
    respond(call('weather', { city: 'Oslo' }), end({ usage: { inputTokens: 60, outputTokens: 15 } })),
    respond(say('It is sunny in Oslo.'), end({ usage: { inputTokens: 90, outputTokens: 6 } })),
  ],
})
const client = process.env.OPENAI_API_KEY ? new OpenAI() : new OpenAI({ apiKey: 'none', fetch: mock.fetch })

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}, 21 degrees.`,
})

const agent = createAgent({
  model: openai({ client, model: 'gpt-5.1' }),
  instructions: 'Answer in one sentence.',
  tools: [weather],
})

const run = agent.stream('What is the weather in Oslo?')
for await (const event of run) {
  if (event.type === 'text-delta') process.stdout.write(event.delta)
  if (event.type === 'tool-start') console.log(`→ ${event.call.name} ${JSON.stringify(event.call.input)}`)
}
const { steps, usage } = await run.result
console.log(`\n${steps} steps`, usage)
