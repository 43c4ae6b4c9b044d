// Your own loop over OpenAI's client: its tools run while the model still streams. With OPENAI_API_KEY set it calls the
// real model; without it, a server of the harness on the same wire.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { tool } from '@meanwhile/core'
import { createToolExecutor } from '@meanwhile/eager-tools'
import { serveModels } from '@meanwhile/harness/server'
import { chatWire } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const input = z.object({ city: z.string() })
const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input,
  effect: 'read',
  async execute({ city }, { signal }) {
    console.log(`${at()}  weather in ${city} is requested`)
    await wait(300, undefined, { signal })
    return `Sunny in ${city}.`
  },
})

const script = [
  respond(call('weather', { city: 'Oslo' }), call('weather', { city: 'Rome' }), say('I will compare the two for you.')),
  respond(say('It is sunny in both.')),
]
const pace = { firstToken: 200, betweenTokens: 30 }
const server = process.env.OPENAI_API_KEY ? undefined : await serveModels({ script, pace })
const client = server ? new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1` }) : new OpenAI()

const { name, description } = weather
const tools = [{ type: 'function' as const, function: { name, description, parameters: z.toJSONSchema(input) } }]
const content = 'Is it warmer in Oslo or in Rome? Look up both at once.'
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content }]
const start = performance.now()
const at = () => `${(performance.now() - start).toFixed(0).padStart(5)} ms`

for (let isAnswer = false; !isAnswer; ) {
  await using executor = createToolExecutor({ tools: [weather], wire: chatWire() })
  const stream = await client.chat.completions.create({ model: 'gpt-5.1', messages, tools, stream: true })
  for await (const chunk of stream) executor.push(chunk)
  console.log(`${at()}  the response has ended`)
  const finished = await executor.finish()
  console.log(`${at()}  its calls have results: ${finished.toolMessages.length}`)
  messages.push(...finished.response, ...finished.results)
  isAnswer = finished.isAnswer
}
console.log(messages.at(-1)?.content)
await server?.close()
