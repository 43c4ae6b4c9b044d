// A tool that asks, in its shortest: the run ends with the question, and goes on with the answer.

import { createAgent, interrupt, memoryStore, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { z } from 'zod'

const book = tool({
  name: 'book',
  description: 'Books a seat.',
  input: z.object({ seat: z.string() }),
  execute: ({ seat }, { answers }) => {
    if (answers.length === 0) throw interrupt({ question: `Book ${seat}?` })
    return answers[0] === 'yes' ? `Booked ${seat}.` : 'The user said no.'
  },
})
const model = scriptedModel([respond(call('book', { seat: '12A' })), respond(say('Done.'))])
const agent = createAgent({ name: 'travel', model, tools: [book], checkpoints: memoryStore() })

const first = await agent.run('Book me a seat.')
const [question] = first.interrupts ?? []
if (!first.checkpoint || !question) throw new Error('it did not ask')

const { result } = agent.resume(first.checkpoint.runId, { [question.id]: 'yes' })
console.log((await result).text) // Done.
