// Each attempt of the model may take 100 ms, and a tool 50. retryModel comes first in the list, so an attempt that takes too long is repeated.

import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { retryModel, timeout } from '@meanwhile/middleware'
import { z } from 'zod'

const slow = tool({
  name: 'slow',
  description: 'Takes its time.',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => resolve('Done.'), 1_000)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    }),
})

const agent = createAgent({
  model: scriptedModel([
    respond(wait(5_000), say('Too late.')),
    respond(call('slow')),
    respond(say('That took too long.')),
  ]),
  tools: [slow],
  middleware: [retryModel(), timeout({ model: 100, tool: 50, run: 5_000 })],
})

const run = agent.stream('Go on.')
for await (const event of run) {
  if (event.type === 'attempt-failed') console.log(event.error instanceof Error ? event.error.message : '')
  if (event.type === 'tool-end') console.log(event.message.content[0])
}
console.log((await run.result).text)
