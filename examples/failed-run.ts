// A run fails after its tool has run. `error.messages` has its history up to the failure: store it as the input of the next run, which
// then need not call the tool again.

import { call, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { AgentError, createAgent, type Message, tool } from '@meanwhile/core'
import { z } from 'zod'

const book = tool({
  name: 'book',
  description: 'Books a seat.',
  input: z.object({ seat: z.string() }),
  execute({ seat }) {
    console.log(`booking ${seat}`)
    return `Booked ${seat}.`
  },
})
const model = scriptedModel([
  respond(call('book', { seat: '12A' })),
  respond(fail({ status: 400, message: 'the provider has a bad day' })),
  respond(say('Your seat is 12A.')),
])
const agent = createAgent({ model, tools: [book] })

let stored: readonly Message[] = []

async function answer(history: readonly Message[]): Promise<string> {
  try {
    const { messages, text } = await agent.run(history)
    stored = messages
    return text
  } catch (error) {
    if (error instanceof AgentError && error.messages) stored = error.messages
    throw error
  }
}

try {
  await answer([{ role: 'user', content: 'Book me a seat.' }])
} catch (error) {
  console.log(`failed: ${String(error)}`)
}
console.log(await answer([...stored, { role: 'user', content: 'And, is it booked?' }])) // Your seat is 12A.
