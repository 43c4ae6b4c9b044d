// A tool that only reads may start before its arguments are complete: it warms up when it is named, and starts with the members it
// needs. The model writes a long question after the path; the file is already open when the question is complete.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

const start = performance.now()
const log = (what: string) => console.log(`${(performance.now() - start).toFixed(0).padStart(5)} ms  ${what}`)

async function connect({ signal }: { readonly signal: AbortSignal }) {
  log('connecting')
  await wait(200, undefined, { signal })
  return { read: async (path: string) => `what ${path} says` }
}

const ask = tool({
  name: 'ask_file',
  description: 'Answers a question about a file.',
  input: z.object({ path: z.string(), question: z.string() }), // models mostly write members in the order of the schema
  effect: 'read',
  needs: ['path'],
  warm: connect,
  async execute({ path }, { rest, warmed, signal }) {
    log(`starts with ${path}`)
    const store = (await warmed) ?? (await connect({ signal }))
    const text = await store.read(path)
    const { question } = await rest // rejects if the response breaks off
    log('has the question, too')
    return `To “${question}”: ${text}.`
  },
})

const question = 'Which of its functions may throw, and what do those who call them have to do about it?'
const model = scriptedModel([respond(call('ask_file', { path: 'src/a.ts', question })), respond(say('None.'))], {
  pace: { firstToken: 200, betweenTokens: 30 },
})
const agent = createAgent({ model, tools: [ask], middleware: [eagerTools()] })
for await (const event of agent.stream('What may throw in src/a.ts?')) {
  if (event.type === 'tool-committed') log('the response has ended, and the call is committed')
}
