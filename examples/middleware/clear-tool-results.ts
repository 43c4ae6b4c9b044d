// Long results fill the history. Above 500 tokens all results except those of the last step are emptied.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { clearToolResults } from '@meanwhile/middleware'
import { z } from 'zod'

const read = tool({
  name: 'read',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  effect: 'read',
  execute: ({ page }) => `Page ${page}: `.padEnd(1_000, 'lorem ipsum '),
})

const reading = (page: number) => respond(call('read', { page }))
const model = scriptedModel([reading(1), reading(2), reading(3), respond(say('Three pages of lorem ipsum.'))])
const agent = createAgent({ model, tools: [read], middleware: [clearToolResults({ at: { tokens: 500 } })] })

await agent.run('Read it all.')
for (const [step, { messages }] of model.requests.entries()) {
  const results = messages.filter(({ role }) => role === 'tool').map((message) => textOf(message).slice(0, 36))
  console.log(`step ${step + 1}:`, results)
}
