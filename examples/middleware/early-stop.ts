// A model that never stops calling tools: after two steps it must answer, without tools.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { earlyStop } from '@meanwhile/middleware'
import { z } from 'zod'

const look = tool({
  name: 'look',
  description: 'Looks under a stone.',
  input: z.object({ stone: z.number() }),
  effect: 'read',
  execute: ({ stone }) => `Nothing under stone ${stone}.`,
})

const looking = (stone: number) => respond(call('look', { stone }))
const agent = createAgent({
  model: scriptedModel([looking(1), looking(2), respond(say('Nothing so far, after two stones.'))]),
  tools: [look],
  maxSteps: 2,
  middleware: [earlyStop({ instruction: 'Say what you have found by now.' })],
})

const { text, stopReason, steps } = await agent.run('Find the key.')
console.log(text, `(${stopReason} after ${steps} steps)`)
