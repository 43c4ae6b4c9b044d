// The shortest tool that asks a question: the run ends with the question, and continues with the answer.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { z } from 'zod'

const book = tool({
  name: 'book',
  description: 'Books a seat.',
  input: z.object({ seat: z.string() }),
  answer: z.enum(['yes', 'no']),
  execute: ({ seat }, { answers }) => {
    if (answers.length === 0) throw interrupt({ question: `Book ${seat}?` })
    return answers[0] === 'yes' ? `Booked ${seat}.` : 'The user said no.'
  },
})
const model = scriptedModel([respond(call('book', { seat: '12A' })), respond(say('Done.'))])
const agent = createAgent({ model, tools: [book] })

let result = await agent.run('Book me a seat.')
while (result.status === 'interrupted') {
  const answers = Object.fromEntries(result.interrupts.map(({ id }) => [id, 'yes']))
  result = await agent.resume(result.checkpoint, answers).result
}
console.log(result.text) // Done.
