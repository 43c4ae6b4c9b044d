// A writer and a critic take turns until the critic has no more advice, or three rounds are over.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { z } from 'zod'

const writer = createAgent({
  name: 'writer',
  model: scriptedModel([
    respond(say('Tools wait for the stream.')),
    respond(say('Tools need not wait for the stream.')),
  ]),
})
const critic = createAgent({
  name: 'critic',
  model: scriptedModel([
    respond(call('final_answer', { good: false, advice: 'Say what is new.' })),
    respond(call('final_answer', { good: true, advice: '' })),
  ]),
  output: z.object({ good: z.boolean(), advice: z.string() }),
})

let draft = await writer.run('One sentence on eager tools.')
for (let round = 1; round <= 3; round++) {
  const { output } = await critic.run(draft.text)
  console.log(`round ${round}: ${draft.text}`, output)
  if (!output || output.good) break
  // The history of a run and a further message are the input of the next run.
  draft = await writer.run([...draft.messages, { role: 'user', content: output.advice }])
}
