// `toolChoice` of an agent applies to every step. This model must first look something up and is free after that: a wrap sets it only for
// the first step.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, tool } from '@meanwhile/core'
import { z } from 'zod'

const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => `Three pages about ${query}.`,
})

const searchFirst: Middleware = {
  name: 'search-first',
  wrapModel(request, next, run) {
    return next(run.step === 1 ? { ...request, toolChoice: { tool: 'search' } } : request)
  },
}

const model = scriptedModel([respond(call('search', { query: 'checkpoints' })), respond(say('There are three pages.'))])
const agent = createAgent({ model, tools: [search], middleware: [searchFirst] })
console.log((await agent.run('What is known about checkpoints?')).text)
console.log(model.requests.map(({ toolChoice }) => toolChoice)) // [ { tool: 'search' }, 'auto' ]
