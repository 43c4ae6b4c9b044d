// Effects decide which calls start early; your own policy can overrule them. At the end it prints the time that was saved.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }, { signal }) => wait(200, `Two pages about ${query}.`, { signal }),
})
const notify = tool({
  name: 'notify',
  description: 'Tells somebody.',
  input: z.object({ text: z.string() }),
  execute: ({ text }, { signal }) => wait(200, `Told: ${text}`, { signal }), // external: it cannot be undone
})

const eager = eagerTools({
  independent: ['notify'], // no other call depends on what it does
  policy(call, { tool, effect, evidence, model, run }) {
    if (tool.name === 'search' && run.step > 3) return 'wait' // not early
    if (evidence === 'closed' && model.provider !== 'anthropic') return 'wait' // called again when the call is sealed
    if (effect === 'external' && call.name === 'notify') return 'start' // early, once it is sealed
    return undefined // its effect decides
  },
})

const calls = [call('notify', { text: 'I am on it.' }), call('search', { query: 'checkpoints' })]
const pace = { firstToken: 50, betweenTokens: 20 }
const script = [
  respond(...calls, say('I told them, and now I look it up in the pages.')),
  respond(say('There are two.')),
]
const agent = createAgent({ model: scriptedModel(script, { pace }), tools: [search, notify], middleware: [eager] })

const { savings } = await agent.run('Tell them, and look up what is known of checkpoints.')
console.log(savings?.savedMs, savings?.wastedMs)
for (const { step, actualMs, parallelMs, savedMs } of savings?.steps ?? []) {
  console.log(step, actualMs, parallelMs, savedMs)
}
