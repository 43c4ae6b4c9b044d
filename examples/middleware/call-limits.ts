// At most three model calls and one search; then the model must answer with what it has found.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { callLimits } from '@meanwhile/middleware'
import { z } from 'zod'

const search = tool({
  name: 'search',
  description: 'Searches the web.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => `Three pages about ${query}.`,
})

const searching = (query: string) => respond(call('search', { query }))
const agent = createAgent({
  model: scriptedModel([searching('owls'), searching('birds'), searching('all'), respond(say('Owls are birds.'))]),
  tools: [search],
  middleware: [callLimits({ modelCalls: 3, perTool: { search: 1 }, onLimit: 'answer' })],
})

const run = agent.stream('What is an owl?')
for await (const event of run) if (event.type === 'tool-end') console.log(event.message.content[0])
const { text, stopReason } = await run.result
console.log(text, `(${stopReason})`)
