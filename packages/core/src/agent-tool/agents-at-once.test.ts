/** A tool that runs two agents at once, one of which asks: its function ends with the question, while the other agent is still running. */

import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { agentTool, createAgent, interrupt, memoryStore, type Tool, tool } from '../index.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

const nothing = z.object({})
/** `thinks`: how long the model of the other agent takes, in milliseconds; `works`: how long its payment takes. */
function twoAtOnce(thinks: number, works: number) {
  const did: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: nothing,
    async execute() {
      did.push('pay')
      await sleep(works)
      return 'paid'
    },
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: nothing,
    execute: (_, { answers }) => answers[0] ?? interrupt('Well?'),
  })
  const inner = (name: string, does: Tool, ms: number) =>
    agentTool(
      createAgent({
        name,
        description: 'Works.',
        model: scriptedModel(
          Array.from({ length: 3 }, () => ({ messages }) => {
            return messages.some(({ role }) => role === 'tool')
              ? respond(say('Done.'))
              : respond(wait(ms), call(does.name, {}))
          }),
        ),
        tools: [does],
      }),
    )
  const agents = [inner('payer', pay as Tool, thinks), inner('asker', ask as Tool, 1)]
  const both = tool({
    name: 'both',
    description: 'Runs both agents.',
    input: nothing,
    execute: (_, context) => Promise.all(agents.map(async (agent) => agent.execute?.({ request: 'Go.' }, context))),
  })
  const model = scriptedModel([respond(call('both', {})), respond(say('Done.'))])
  return { did, agent: createAgent({ model, tools: [both as Tool], checkpoints: memoryStore() }) }
}

test.for([
  { thinks: 20, works: 0 },
  { thinks: 0, works: 20 },
  { thinks: 1, works: 1 },
  { thinks: 2, works: 0 },
])('what the other agent does is done once, before the question or after the answer: %j (L7)', async (given) => {
  const { did, agent } = twoAtOnce(given.thinks, given.works)
  const run = agent.run('Go')
  await vi.advanceTimersByTimeAsync(100)
  const asked = await run
  expect(asked.status).toBe('interrupted')
  const [{ id } = { id: '' }] = asked.interrupts ?? []
  const resumed = agent.resume(asked.checkpoint ?? '', { [id]: 'yes' }).result
  await vi.advanceTimersByTimeAsync(100)
  expect([(await resumed).status, did]).toEqual(['completed', ['pay']])
})
