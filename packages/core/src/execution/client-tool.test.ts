import { expect, test } from 'vitest'
import { z } from 'zod'
import { createAgent, runTool, type Tool, tool } from '../index.ts'
import { call, respond, say, scriptedModel } from '../testing.ts'

const choose = tool({
  name: 'choose',
  description: 'Lets the user choose.',
  input: z.object({ of: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
})
const look = tool({ name: 'look', description: 'l', input: z.object({}), execute: () => 'seen' })

function agentOf() {
  const model = scriptedModel([respond(call('choose', { of: ['a', 'b'] }), call('look')), respond(say('Done.'))])
  return createAgent({ model, tools: [choose as Tool, look as Tool] })
}

test('a tool without execute interrupts the run with its call, and the answer is its result (M15, L1, L3)', async () => {
  const agent = agentOf()
  const first = await agent.run('Go')
  expect(first.status).toBe('interrupted')
  expect(first.interrupts).toMatchObject([
    { payload: { type: 'tool-call', id: 'call_1_1', name: 'choose', input: { of: ['a', 'b'] } } },
  ])
  const id = first.interrupts?.[0]?.id ?? ''
  const result = await agent.resume(first.checkpoint ?? '', { [id]: { chosen: 'b' } }).result
  expect(result.text).toBe('Done.')
  expect(result.messages.filter(({ role }) => role === 'tool')).toMatchObject([
    { callId: 'call_1_1', output: { chosen: 'b' } },
    { callId: 'call_1_2', output: 'seen' },
  ])
})

test('an answer that its output schema refuses is refused by the resume: the model reads nothing, the question stays open (M15, P17)', async () => {
  const agent = agentOf()
  const first = await agent.run('Go')
  const id = first.interrupts?.[0]?.id ?? ''
  await expect(agent.resume(first.checkpoint ?? '', { [id]: { chosen: 3 } }).result).rejects.toMatchObject({
    name: 'AnswerError',
    id,
    issues: [{ path: 'chosen' }],
  })
  const result = await agent.resume(first.checkpoint ?? '', { [id]: { chosen: 'a' } }).result
  expect(result.messages[2]).toMatchObject({ callId: 'call_1_1', output: { chosen: 'a' } })
})

test('alone, a tool without execute rejects with its question (M15, L12)', async () => {
  const error: unknown = await runTool(choose, { of: [] }).result.catch((error: unknown) => error)
  expect(error).toMatchObject({ name: 'Interrupt', payload: { name: 'choose' } })
  expect(error).toHaveProperty(
    'message',
    'an answer is asked for: `agent.resume` brings it to a run; a tool alone, or in the background, can have none',
  )
})
