import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { asking, checkpointIn, interrupted, working } from '../../test/conversation.ts'
import { settled as played } from '../../test/played-runs.ts'
import { answersTo } from '../../test/results.ts'
import { AnswerError, createAgent, type Json, type ToolSchema } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

const form = z.object({ decision: z.enum(['yes', 'no']), seats: z.array(z.int()).optional() })

test('a question contains the JSON Schema of its answer, and another process refuses a wrong one before anything runs (CC4, P17, L13)', async () => {
  const { result: outcome } = await interrupted({ tools: [working('look', 10), asking('ask', form)] })
  const checkpoint = checkpointIn(outcome)
  const [pending] = checkpoint.interrupts
  expect(pending).toEqual({
    id: expect.any(String),
    address: [{ agent: null }, { tool: 'ask', callId: 'b' }],
    payload: { what: 'ask' },
    answerSchema: expect.objectContaining({ type: 'object', required: ['decision'] }),
  })
  // Uses only the schema in the checkpoint.
  const model = scriptedModel([respond(say('Well'))])
  const other = createAgent({ model, tools: [working('look', 10), asking('ask')] })
  const refused = await played(other.resume(checkpoint, answersTo(outcome, { decision: 'perhaps' })))
  expect(refused.error).toEqual(
    new AnswerError(
      pending?.id ?? '',
      'tool ask in call b',
      [{ path: 'decision', message: 'must be "yes" or "no"' }],
      {},
      pending?.answerSchema,
    ),
  )
  expect(refused.events).toEqual([])
  expect(model.requests).toEqual([])
  const taken = await played(other.resume(checkpoint, answersTo(outcome, { decision: 'yes' })))
  expect(taken.result).toMatchObject({ status: 'completed', text: 'Well' })
})

const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree)
  },
})

test.each<[string, ToolSchema, readonly Json[], readonly Json[]]>([
  ['text', z.string(), ['', 'a'], [1, null, ['a'], { a: 1 }]],
  ['a number', z.number(), [1, 0.5], ['1', true]],
  ['a whole number', z.int(), [1], [0.5, '1']],
  ['a choice', z.enum(['a', 'b']), ['a'], ['c', 1]],
  ['a constant', z.literal(1), [1], [2, '1']],
  ['true or false', z.boolean(), [true], ['true', 0]],
  ['null', z.null(), [null], [0, '']],
  ['a list', z.array(z.string()), [[], ['a']], [[1], ['a', null], { 0: 'a' }]],
  ['an object', form, [{ decision: 'no' }, { decision: 'no', seats: [1] }], [{}, { decision: 'no', seats: ['1'] }, []]],
  ['an exact object', z.strictObject({ a: z.string() }), [{ a: '' }], [{ a: '', b: 1 }]],
  ['a record', z.record(z.string(), z.number()), [{}, { a: 1 }], [{ a: 'b' }]],
  ['one of several', z.union([z.string(), z.object({ a: z.number() })]), ['a', { a: 1 }], [1, { a: 'b' }]],
  [
    'both of two',
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    [{ a: '', b: '' }],
    [{ a: '' }],
  ],
  ['a pair', z.tuple([z.string(), z.number()]), [['a', 1]], ['a', 1]],
  [
    'a tree',
    tree,
    [{ name: 'a', children: [{ name: 'b', children: [] }] }],
    [{ name: 'a', children: [{ name: 'b' }] }],
  ],
])('an answer that must be %s is accepted or refused by its JSON Schema (CC4)', async (_, schema, fitting, wrong) => {
  const { result: outcome } = await interrupted({ tools: [working('look', 10), asking('ask', schema)] })
  const checkpoint = checkpointIn(outcome)
  const answered = async (answer: Json) => {
    const agent = createAgent({
      model: scriptedModel([respond(say('Well'))]),
      tools: [working('look', 10), asking('ask')],
    })
    return (await played(agent.resume(checkpoint, answersTo(outcome, answer)))).error
  }
  for (const answer of fitting) expect(await answered(answer)).toBeUndefined()
  for (const answer of wrong) expect(await answered(answer)).toBeInstanceOf(AnswerError)
})

test('a question whose schema cannot be written as JSON Schema ends the run (CC4)', async () => {
  const { '~standard': standard } = z.string()
  const schema = { '~standard': { ...standard, jsonSchema: undefined } } as unknown
  const agent = createAgent({
    model: scriptedModel([respond(call('ask'))]),
    tools: [asking('ask', schema as ToolSchema)],
  })
  const { error } = await played(agent.stream('Go'))
  expect(error).toMatchObject({ name: 'ConfigError', option: 'interrupt.answer' })
})
