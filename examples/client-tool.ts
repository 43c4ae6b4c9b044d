// A tool without `execute` is made elsewhere: in a browser, by a person. The run ends with the call as its question.

import { createAgent, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { z } from 'zod'

const choose = tool({
  name: 'choose',
  description: 'Lets the user choose.',
  input: z.object({ of: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
})
const model = scriptedModel([respond(call('choose', { of: ['a', 'b'] })), respond(say('Then b.'))])
const agent = createAgent({ model, tools: [choose] })

const { interrupts, checkpoint } = await agent.run('Which one?')
const [question] = interrupts ?? []
if (!question || !checkpoint) throw new Error('it did not ask')
console.log(JSON.stringify(question.payload)) // {"type":"tool-call","id":"call_1_1","name":"choose","input":{"of":["a","b"]}}
console.log((await agent.resume(checkpoint, { [question.id]: { chosen: 'b' } }).result).text) // Then b.
