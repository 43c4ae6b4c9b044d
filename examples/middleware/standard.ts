// The standard list, with a second model and your own limit, and with eager tools inside.

import { call, cut, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { standard } from '@meanwhile/middleware'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})

const middleware = [
  ...standard({
    fallbackModel: { models: [scriptedModel([respond(say('Hello from the other model.'))])] },
    callLimits: { toolCalls: 50 },
    timeout: { tool: 30_000 },
  }),
  eagerTools(),
]
console.log(middleware.map(({ name }) => name).join(' > '))

const asking = call('weather', { city: 'Rome' })
const model = scriptedModel([respond(asking, cut()), respond(asking), respond(say('Sunny in Rome.'))])
console.log((await createAgent({ model, tools: [weather], middleware }).run('What is the weather in Rome?')).text)
