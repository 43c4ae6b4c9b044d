// A model call that fails twice and is repeated, inside one step.

import { fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { retryModel } from '@meanwhile/middleware'

const agent = createAgent({
  model: scriptedModel([
    respond(fail({ status: 503 })),
    respond(fail({ status: 429 })),
    respond(say('Hello at last.')),
  ]),
  middleware: [retryModel({ maxRetries: 3 })],
})

const run = agent.stream('Say hello.')
for await (const event of run) {
  if (event.type === 'attempt-failed')
    console.log(`attempt ${event.attempt} failed, ${event.next} in ${event.waitMs} ms`)
}
const { text, steps } = await run.result
console.log(text, `(${steps} step)`)
