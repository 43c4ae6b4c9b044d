// Your own middleware: a hook with state in the run, and a wrap around each call. With a key in the environment it calls the
// real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, runLocal, tool } from '@meanwhile/core'
import { earlyStop, retryModel } from '@meanwhile/middleware'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

/** Adds the date to the instructions once, and sums up how long the tools of a run took. */
function timekeeper(): Middleware {
  const spent = runLocal(() => ({ ms: 0 }))
  return {
    name: 'timekeeper',
    beforeAgent: (setup) => ({ ...setup, instructions: `${setup.instructions} Today is 21 November 2026.`.trim() }),
    async *wrapToolCall(call, next, run) {
      const start = performance.now()
      try {
        return yield* next(call)
      } finally {
        spent(run).ms += performance.now() - start
        run.emit({ name: 'time-spent', data: Math.round(spent(run).ms) })
      }
    },
  }
}

const lookUp = tool({
  name: 'look_up',
  description: 'Looks something up.',
  input: z.object({ what: z.string() }),
  effect: 'read',
  async *execute({ what }) {
    yield { progress: 0.5, message: `looking for ${what}` }
    await new Promise((resolve) => setTimeout(resolve, 20))
    return `Found ${what}.`
  },
})

const agent = createAgent({
  model: modelOr([respond(call('look_up', { what: 'the date' })), respond(say('It is the 21st.'))]),
  tools: [lookUp],
  maxSteps: 5,
  middleware: [earlyStop(), retryModel(), timekeeper()],
})

const run = agent.stream('Which day is it?')
for await (const event of run) {
  if (event.type === 'tool-progress') console.log(`${event.toolName}: ${event.message}`)
  if (event.type === 'custom') console.log(`${event.name}: ${String(event.data)} ms`)
}
console.log((await run.result).text)
