// A tool that fails twice. It only reads, so it may run again; a tool that books a table would have to be named.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { retryTool } from '@meanwhile/middleware'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute({ city }, { attempt }) {
    console.log(`try ${attempt}`)
    if (attempt < 3) throw new Error('the station does not answer')
    return `Sunny in ${city}.`
  },
})

const agent = createAgent({
  model: scriptedModel([respond(call('weather', { city: 'Oslo' })), respond(say('It is sunny.'))]),
  tools: [weather],
  middleware: [retryTool({ maxRetries: 2, baseDelay: 20 })],
})

console.log((await agent.run('What is the weather in Oslo?')).text)
