// A run is cancelled after its current step, and continues later from its checkpoint, with a further message. With a key in the
// environment it calls the real model; without a key, a mocked endpoint.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, memoryStore, tool } from '@meanwhile/core'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const tidy = tool({
  name: 'tidy_up',
  description: 'Tidies up a folder of the project.',
  input: z.object({ folder: z.string() }),
  async execute({ folder }, { signal }) {
    await wait(100, undefined, { signal })
    return `${folder} is tidy.`
  },
})
const model = modelOr([
  respond(call('tidy_up', { folder: 'src' })),
  respond(say('It is tidy, and the tests are kept.')),
])
const agent = createAgent({ name: 'tidier', model, tools: [tidy], checkpoints: memoryStore() })

const run = agent.stream('Tidy up the folder src.')
for await (const event of run) {
  // Or 'after-model', or 'now'. If the step takes longer than ten seconds, the mode becomes 'now'.
  if (event.type === 'tool-start') void run.cancel({ at: 'after-tools', escalateAfter: 10_000 })
}
const { status, checkpoint } = await run.result
console.log(status, (await run.result).steps)

const resumed = agent.resume(checkpoint ?? run.id)
resumed.send('And keep the tests.') // a user message, before the next model call
console.log((await resumed.result).text)
