// Two orders wait for approval: the run stops with both questions, and a resume, in any process, has the answers. With a key in
// the environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { type Approval, type ApprovalQuestion, approve, isPendingApproval } from '@meanwhile/middleware'
import { z } from 'zod'
import { modelOr } from '../shared/model.ts'

const order = tool({
  name: 'order',
  description: 'Orders a dish.',
  input: z.object({ dish: z.string(), plates: z.number() }),
  execute: ({ dish, plates }) => `Ordered ${plates} of ${dish}.`,
})

const agent = createAgent({
  model: modelOr([
    respond(call('order', { dish: 'soup', plates: 2 }), call('order', { dish: 'lobster', plates: 40 })),
    respond(say('Two soups are on their way.')),
  ]),
  tools: [order],
  middleware: [approve({ tools: ['order'] })],
})

function decide({ tool, input }: ApprovalQuestion): Approval {
  const { plates } = input as { plates: number }
  console.log(`${tool} ${JSON.stringify(input)}: ${plates < 10 ? 'yes' : 'no'}`)
  return plates < 10 ? { decision: 'allow' } : { decision: 'deny', reason: 'that is too many' }
}

let result = await agent.run('Order two soups and forty lobsters, both at once.')
while (result.status === 'interrupted') {
  const answers: Record<string, Approval> = {}
  for (const { id, payload } of result.interrupts.filter(isPendingApproval)) answers[id] = decide(payload)
  result = await agent.resume(result.checkpoint, answers).result
}
for (const message of result.messages) if (message.role === 'tool') console.log(message.content)
console.log(result.text)
