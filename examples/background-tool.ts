// A call that is answered at once: the model continues, and reads the result when it is ready. With a key in the environment it
// calls the real model; without a key, a mocked endpoint.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const build = tool({
  name: 'build',
  description: 'Builds the project. Takes long.',
  input: z.object({ target: z.string() }),
  background: { atEnd: 'wait' },
  async *execute({ target }, { signal }) {
    for (const part of [1, 2, 3]) {
      await wait(50, undefined, { signal })
      yield { progress: part / 3, message: `part ${part} of 3` }
    }
    return `${target} is built.`
  },
})

const agent = createAgent({
  model: modelOr([
    respond(call('build', { target: 'app' })),
    respond(say('The build has started; I will tell you when it is done.')),
    respond(say('The app is built.')),
  ]),
  tools: [build],
})

const run = agent.stream('Build the app.')
for await (const event of run) {
  if (event.type === 'tool-end') console.log('answered with', event.message.output)
  if (event.type === 'tool-progress') console.log(`\n  ${event.message}`)
  if (event.type === 'background-end') console.log('ended with', event.message.output)
  if (event.type === 'text-delta') process.stdout.write(event.delta)
}
console.log(`\n${(await run.result).steps} steps`)
