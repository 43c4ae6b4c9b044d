// A chat for a server that stops a request when its client leaves, such as Cloudflare Workers: the rest of the turn runs in `waitUntil`.
// Below it the example plays the platform and a client that leaves after the first bytes.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})
const script = [
  respond(call('weather', { city: 'Oslo' }), say('Let me look that up for you.')),
  respond(say('It is sunny in Oslo.')),
]
const model = scriptedModel(script, { pace: { firstToken: 20, betweenTokens: 20 } })
const agent = createAgent({ model, tools: [weather], middleware: [eagerTools()] })

const threads = createThreads({ agent, store: memoryThreads() })
const chat = chatHandler({ threads, open: () => undefined })

const worker = {
  async fetch(request: Request, _env: unknown, context: { waitUntil(work: Promise<unknown>): void }) {
    const response = await chat(request)
    if (!response.body) return response
    const [toClient, toEnd] = response.body.tee()
    context.waitUntil(toEnd.pipeTo(new WritableStream())) // reads on if the client leaves
    return new Response(toClient, response)
  },
}

// From here on the platform, and its client.

const works: Promise<unknown>[] = []
const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is the weather in Oslo?' }] }
const request = new Request('http://localhost/api/chat', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ id: 'thread-1', trigger: 'submit-message', messages: [message] }),
})
const response = await worker.fetch(request, {}, { waitUntil: (work) => works.push(work) })
await response.body?.cancel()
await Promise.all(works)
console.log((await threads.turn('thread-1'))?.id, (await (await threads.turn('thread-1'))?.result)?.text)
