// The same agent twice, waiting and eager: the model first calls a slow tool, and continues streaming. With a key in the
// environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  effect: 'read',
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
  const model = modelOr(script, { firstToken: 200, betweenTokens: 50 })
  const instructions =
    'Call your tool first, then say in a long sentence what you are doing, before you have its result.'
  const agent = createAgent({ model, instructions, tools: [search], middleware })
  let start = 0
  const at = () => `${(performance.now() - start).toFixed(0).padStart(5)} ms`

  console.log(`${middleware.length > 0 ? 'eager' : 'waiting'}, from when the model begins to write the call`)
  for await (const event of agent.stream('What is known about checkpoints?')) {
    if (event.type === 'tool-input-start') start = performance.now()
    if (event.type === 'tool-start') console.log(`${at()}  search starts`)
    if (event.type === 'tool-end') console.log(`${at()}  its result is committed`)
    if (event.type === 'step-end') console.log(`${at()}  step ${event.step} is complete`)
  }
}
