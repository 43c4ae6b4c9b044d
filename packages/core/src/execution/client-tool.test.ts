import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createAgent, interrupt, type Middleware, runTool, type Tool, tool } from '../index.ts'

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

test('a resume refuses an answer that the output schema refuses: the model reads nothing, and the question stays open (M15, P17)', async () => {
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

test('the question of a client tool has the form of its output, and a process that does not know the tool refuses a wrong answer (M15, CC4)', async () => {
  const first = await agentOf().run('Go')
  const [pending] = first.interrupts ?? []
  expect(pending?.answerSchema).toMatchObject({ type: 'object', required: ['chosen'] })
  const unchecked = createAgent({
    model: scriptedModel([]),
    tools: [tool({ name: 'choose', description: 'c', input: z.object({}) }) as Tool, look as Tool],
  })
  await expect(
    unchecked.resume(first.checkpoint ?? '', { [pending?.id ?? '']: { chosen: 3 } }).result,
  ).rejects.toMatchObject({ name: 'AnswerError', issues: [{ path: 'chosen', message: 'must be string' }] })
})

test('a question has the form that its tool or middleware declares, unless it has its own form or the schema has none (CC4)', async () => {
  const forms = async (answer: StandardSchemaV1, own?: z.ZodType) => {
    const ask = tool({
      name: 'ask',
      description: 'a',
      input: z.object({}),
      answer,
      execute: () => interrupt('Really?', own && { answer: own }),
    })
    const asks: Middleware = { name: 'asks', answer, beforeAgent: () => interrupt('First?', own && { answer: own }) }
    const results = [
      await createAgent({ model: scriptedModel([respond(call('ask'))]), tools: [ask as Tool] }).run('Go'),
      await createAgent({ model: scriptedModel([]), middleware: [asks] }).run('Go'),
    ]
    return results.map(({ interrupts }) => interrupts?.[0]?.answerSchema?.type)
  }
  expect(await forms(z.boolean())).toEqual(['boolean', 'boolean'])
  expect(await forms(z.boolean(), z.string())).toEqual(['string', 'string'])
  const silent = { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } } as const
  expect(await forms(silent)).toEqual([undefined, undefined])
  expect(await forms(z.custom(() => true).transform(() => new Date()))).toEqual([undefined, undefined])
})

test('without a run, a tool without execute rejects with its question (M15, L12)', async () => {
  const error: unknown = await runTool(choose, { of: [] }).result.catch((error: unknown) => error)
  expect(error).toMatchObject({ name: 'Interrupt', payload: { name: 'choose' } })
  expect(error).toHaveProperty(
    'message',
    'an answer is required: `agent.resume` gives it to a run; a stand-alone or background tool cannot get one',
  )
})
