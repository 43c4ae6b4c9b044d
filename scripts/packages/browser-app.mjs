// An agent as a page would run it, in one bundle without Node: OpenAI's client and its adapter, eager tools, the standard middleware and
// files in memory. The endpoint is a `fetch` that streams two responses.
import { createAgent, memoryStore, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { filesystem, memoryBackend, standard } from '@meanwhile/middleware'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const event = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const call = { index: 0, id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }
const responses = [
  [event({ role: 'assistant', tool_calls: [call] }), event({}, 'tool_calls'), 'data: [DONE]\n\n'],
  [event({ role: 'assistant', content: 'Sunny ' }), event({ content: 'in Oslo.' }, 'stop'), 'data: [DONE]\n\n'],
]

async function fetch() {
  const chunks = responses.shift()
  const body = new ReadableStream({
    pull(controller) {
      const chunk = chunks.shift()
      if (chunk) controller.enqueue(new TextEncoder().encode(chunk))
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})

async function main() {
  const client = new OpenAI({ apiKey: 'none', fetch, dangerouslyAllowBrowser: true })
  const agent = createAgent({
    model: openai({ client, model: 'gpt-5.1', api: 'chat' }),
    tools: [weather],
    middleware: [...standard(), filesystem({ backend: memoryBackend() }), eagerTools()],
    checkpoints: memoryStore(),
  })
  const { text, steps } = await agent.run('What is the weather in Oslo?')
  return `${text} ${steps}`
}

globalThis.answer = main()
