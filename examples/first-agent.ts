// The smallest program: an agent, a tool, and a scripted model. It needs only core and a schema library.

import { call, end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
})

// A scripted model, as in a test. Adapters for real models are in @meanwhile/models.
const model = scriptedModel([
  respond(call('add', { a: 1, b: 2 }), end({ usage: { inputTokens: 40, outputTokens: 12 } })),
  respond(say('Three.'), end({ usage: { inputTokens: 60, outputTokens: 2 } })),
])
const agent = createAgent({ model, tools: [add] })

const run = agent.stream('What is 1 + 2?')
for await (const event of run) if (event.type === 'text-delta') process.stdout.write(event.delta)
console.log(`\n${JSON.stringify((await run.result).usage)}`) // {"inputTokens":100,"outputTokens":14}
