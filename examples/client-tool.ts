// A tool without `execute` runs elsewhere: in a browser, or by a person. The run ends with the call as its question.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Json, tool } from '@meanwhile/core'
import { z } from 'zod'

const choose = tool({
  name: 'choose',
  description: 'Lets the user choose.',
  input: z.object({ of: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
})
const model = scriptedModel([respond(call('choose', { of: ['a', 'b'] })), respond(say('Then b.'))])
const agent = createAgent({ model, tools: [choose] })

let result = await agent.run('Which one?')
while (result.status === 'interrupted') {
  const answers: Record<string, Json> = {}
  for (const { id, payload } of result.interrupts) {
    console.log(JSON.stringify(payload)) // {"type":"tool-call","id":"call_1_1","name":"choose","input":{"of":["a","b"]}}
    answers[id] = { chosen: 'b' }
  }
  result = await agent.resume(result.checkpoint, answers).result
}
console.log(result.text) // Then b.
