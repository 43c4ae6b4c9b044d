// The same agent twice, waiting and eager: the model first calls a slow tool, and continues streaming.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  effect: 'read', // it changes nothing, so it may start while the model is still streaming
  execute: async ({ query }) => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    return `Three pages about ${query}.`
  },
})

const script = [
  respond(call('search', { query: 'checkpoints' }), say('Let me look that up for you, this may take a moment …')),
  respond(say('There are three pages.')),
]

for (const middleware of [[], [eagerTools()]]) {
  const model = scriptedModel(script, { pace: { firstToken: 200, betweenTokens: 50 } })
  const start = performance.now()
  await createAgent({ model, tools: [search], middleware }).run('What is known about checkpoints?')
  console.log(`${middleware.length > 0 ? 'eager' : 'waiting'}: ${Math.round(performance.now() - start)} ms`)
}
