// A long conversation: a summary replaces its oldest part before the model is called. A cheap model may write the summary.

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Message, textOf } from '@meanwhile/core'
import { summarize } from '@meanwhile/middleware'

const cheap = scriptedModel([respond(say('The user is Ada, who counts birds. So far: 3 owls, 2 wrens.'))])

const agent = createAgent({
  model: scriptedModel([respond(say('Four wrens, Ada.'))]),
  middleware: [summarize({ model: cheap, at: { messages: 4 }, keep: { steps: 1, userTokens: 10 } })],
})

const answer = (text: string): Message => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})
const result = await agent.run([
  { role: 'user', content: 'I am Ada, and I count birds. Three owls today.' },
  answer('Noted: three owls.'),
  { role: 'user', content: 'And two wrens.' },
  answer('Noted: two wrens.'),
  { role: 'user', content: 'Two more wrens. How many is that?' },
])
for (const message of result.messages) console.log(`${message.role}: ${textOf(message)}`)
