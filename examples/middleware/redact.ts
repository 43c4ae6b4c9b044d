// Secrets stay here: the model and the user see masks, and the tool gets the original text.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { redact, secretPatterns } from '@meanwhile/middleware'
import { z } from 'zod'

const key = 'sk-0123456789abcdefghij'
const check = tool({
  name: 'check_customer',
  description: 'Checks a customer number.',
  input: z.object({ customer: z.string() }),
  effect: 'read',
  execute({ customer }) {
    console.log('the tool gets:', customer)
    return `${customer} pays with 4111 1111 1111 1111.`
  },
})

const customers = { kind: 'customer', pattern: /\bC-\d{6}\b/ }
const model = scriptedModel([
  respond(call('check_customer', { customer: 'C-123456' })),
  respond(say(`Customer C-123456 pays by card. Your key is ${key}.`)),
])
const agent = createAgent({
  model,
  tools: [check],
  middleware: [redact({ patterns: [...secretPatterns, customers] })],
})

const { text } = await agent.run(`Check C-123456. My key is ${key}.`)
for (const message of model.requests.at(-1)?.messages ?? []) console.log(`${message.role} is sent:`, textOf(message))
console.log('the answer:', text)
