// An answer with a schema: the model looks something up, and its answer is validated. With a key in the
// environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const orders = tool({
  name: 'orders',
  description: 'The orders of a customer.',
  input: z.object({ customer: z.string() }),
  effect: 'read',
  execute: ({ customer }) => `${customer}: 2 lamps at 40 EUR each, 1 table at 120 EUR`,
})

const invoice = z.object({
  customer: z.string(),
  lines: z.array(z.object({ article: z.string(), amount: z.number(), price: z.number() })),
  total: z.number().min(0).describe('in EUR'),
})

const lines = [
  { article: 'lamp', amount: 2, price: 40 },
  { article: 'table', amount: 1, price: 120 },
]
const model = modelOr([
  respond(call('orders', { customer: 'Ada' })),
  respond(say(JSON.stringify({ customer: 'Ada', lines, total: -200 }))), // refused: the model reads the reason, and answers again
  respond(say(JSON.stringify({ customer: 'Ada', lines, total: 200 }))),
])
const agent = createAgent({ model, tools: [orders], output: invoice })

const run = agent.stream('The invoice for Ada, please.')
for await (const event of run) {
  if (event.type === 'answer-rejected') console.log('refused:', event.feedback)
}
const { output } = await run.result // typed as the schema's output
for (const { article, amount, price } of output?.lines ?? []) console.log(`${amount} × ${article} at ${price} EUR`)
console.log(`${output?.total} EUR for ${output?.customer}`)
