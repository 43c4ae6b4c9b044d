// Your own loop over Anthropic's client, with tools that run while the model still streams. Once a response fails
// and the request is repeated. With ANTHROPIC_API_KEY set it calls the real model; without it, a server of the harness.

import { setTimeout as wait } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { tool } from '@meanwhile/core'
import { createToolExecutor } from '@meanwhile/eager-tools'
import { serveModels } from '@meanwhile/harness/server'
import { messagesWire } from '@meanwhile/models/anthropic'
import { z } from 'zod'

const input = z.object({ query: z.string() })
const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input,
  effect: 'read',
  async execute({ query }, { signal }) {
    console.log(`${at()}  a search for ${query} starts`)
    await wait(500, undefined, { signal })
    return `Three pages about ${query}.`
  },
})
const input_schema = { ...z.toJSONSchema(input), type: 'object' as const }
const tools = [{ name: search.name, description: search.description, input_schema }]
const look = call('search', { query: 'checkpoints' })
const script = [
  respond(look, say('Let me'), fail({ status: 529, code: 'overloaded_error' })),
  respond(look, say('Let me search the pages.')),
  respond(say('There are three pages.')),
]
const pace = { firstToken: 200, betweenTokens: 30 }
const server = process.env.ANTHROPIC_API_KEY ? undefined : await serveModels({ script, pace })
const client = server ? new Anthropic({ apiKey: 'none', baseURL: server.url }) : new Anthropic()

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is known about checkpoints?' }]
const start = performance.now()
const at = () => `${(performance.now() - start).toFixed(0).padStart(5)} ms`

for (let isAnswer = false; !isAnswer; ) {
  await using executor = createToolExecutor({ tools: [search], wire: messagesWire() })
  for (let triesLeft = 2; triesLeft > 0; triesLeft--) {
    try {
      const request = { model: 'claude-sonnet-4-6', max_tokens: 1_000, messages, tools, stream: true as const }
      for await (const event of await client.messages.create(request)) executor.push(event)
      console.log(`${at()}  the response has ended`)
      break
    } catch (error) {
      if (triesLeft === 1) throw error
      console.log(`${at()}  the response has failed`)
      executor.retry(error)
    }
  }
  const finished = await executor.finish()
  messages.push(...finished.response, ...finished.results)
  isAnswer = finished.isAnswer
}
console.log(messages.at(-1)?.content)
await server?.close()
