// Forty tools, none of which the model sees until it searches for one.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { toolSearch } from '@meanwhile/middleware'
import { z } from 'zod'

const cities = ['oslo', 'rome', 'lima', 'kyiv', 'cairo', 'quito', 'hanoi', 'accra', 'dakar', 'minsk']
const kinds = ['weather', 'news', 'traffic', 'events']
const tools = cities.flatMap((city) =>
  kinds.map((kind) =>
    tool({
      name: `${city}_${kind}`,
      description: `The ${kind} of ${city}.`,
      input: z.object({}),
      effect: 'read',
      execute: () => `All quiet in ${city}.`,
    }),
  ),
)

const model = scriptedModel([
  respond(call('tool_search', { query: '+rome traffic' })),
  respond(call('rome_traffic')),
  respond(say('The roads of Rome are quiet.')),
])
const agent = createAgent({ model, middleware: [toolSearch({ tools, maxResults: 2 })] })

console.log((await agent.run('How is the traffic in Rome?')).text)
for (const request of model.requests) console.log(request.tools.map(({ name }) => name).join(', '))
