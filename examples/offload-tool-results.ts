// A result that is too large for the context: the model reads its beginning, and searches the rest.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { filesystem, memoryBackend, offloadToolResults } from '@meanwhile/middleware'
import { z } from 'zod'

const log = tool({
  name: 'read_log',
  description: 'The log of the last hour.',
  input: z.object({}),
  effect: 'read',
  execute: () =>
    Array.from({ length: 5_000 }, (_, n) => (n === 4_321 ? 'ERROR out of paper' : `INFO page ${n}`)).join('\n'),
})

const backend = memoryBackend()
const agent = createAgent({
  model: scriptedModel([
    respond(call('read_log', {})),
    respond(call('grep', { pattern: '^ERROR', path: 'tool-results', output: 'content' })),
    respond(say('The printer is out of paper.')),
  ]),
  tools: [log],
  middleware: [filesystem({ backend, readOnly: true }), offloadToolResults({ backend, preview: 40 })],
})

const { messages } = await agent.run('What is wrong?')
for (const message of messages) console.log(`${message.role}: ${textOf(message)}`)
