// Many runs: support tickets, four at a time, each with a limit of tokens. What fails is kept with its error, and Ctrl-C ends the rest. With a
// key in the environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, RunAbortedError, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { callLimits, retryModel } from '@meanwhile/middleware'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'
import { realModel } from './shared/model.ts'

const customer = tool({
  name: 'customer',
  description: 'A customer by their id.',
  input: z.object({ id: z.string() }),
  effect: 'read',
  execute: ({ id }) => `${id}: since 2024, plan Pro`,
})
const output = z.object({ category: z.enum(['billing', 'fault', 'other']), urgency: z.int().min(1).max(5) })

/** It answers by what a request contains, because several runs ask at once. */
function mocked() {
  const { fetch } = mockModels({
    script: ({ body }) => {
      const asked = JSON.stringify(body)
      const [id = ''] = asked.match(/C\d/) ?? []
      const category = asked.includes('invoice') ? 'billing' : 'fault'
      return asked.includes('plan Pro')
        ? respond(say(JSON.stringify({ category, urgency: 2 })))
        : respond(call('customer', { id }), say('I am looking for the customer.'))
    },
  })
  return openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'scripted-1' })
}

const agent = createAgent({
  model: realModel() ?? mocked(),
  tools: [customer],
  output,
  middleware: [callLimits({ tokens: 20_000 }), retryModel({ maxRetries: 3 }), eagerTools()],
})

const tickets = Array.from({ length: 10 }, (_, n) => `C${n}: ${n % 3 ? 'The page is empty.' : 'My invoice is wrong.'}`)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

const done: {
  readonly ticket: string
  readonly output?: z.infer<typeof output> | undefined
  readonly error?: unknown
}[] = []
const waiting = tickets.values() // all workers take from it
async function work(): Promise<void> {
  for (const ticket of waiting) {
    try {
      const result = await agent.run(ticket, { signal: stop.signal })
      done.push({ ticket, output: result.output })
    } catch (error) {
      if (error instanceof RunAbortedError) return
      done.push({ ticket, error })
    }
  }
}
await Promise.all(Array.from({ length: 4 }, work))

for (const { ticket, output, error } of done) console.log(ticket, output ?? String(error))
if (stop.signal.aborted) process.exitCode = 130
