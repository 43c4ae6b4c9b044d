// Two models: when the first fails the second one is called, for the rest of the run.

import { call, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { fallbackModel, retryModel } from '@meanwhile/middleware'
import { z } from 'zod'

const busy = respond(fail({ status: 503 }))
const first = scriptedModel([busy, busy], { provider: 'first', id: 'first-large' })
const second = scriptedModel([respond(call('look', {})), respond(say('All is well.'))], {
  provider: 'second',
  id: 'second-large',
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'Nothing odd.',
})

const agent = createAgent({
  model: first,
  tools: [look],
  middleware: [fallbackModel({ models: [second] }), retryModel({ maxRetries: 1 })],
})

const run = agent.stream('Is all well?')
for await (const event of run) {
  if (event.type === 'attempt-start') console.log(`step ${event.step}, attempt ${event.attempt}: ${event.model.id}`)
  if (event.type === 'attempt-failed') console.log(`  failed, then: ${event.next}`)
}
console.log((await run.result).text)
