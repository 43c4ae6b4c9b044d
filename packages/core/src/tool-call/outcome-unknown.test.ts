import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agentTool, createAgent, type Middleware, OutcomeUnknownError, tool } from '../index.ts'

/** A tool whose first executions lose their answer. */
function send(losses = 1) {
  let executions = 0
  return tool({
    name: 'send',
    description: 'Sends a message.',
    input: z.object({}),
    execute() {
      executions++
      if (executions <= losses) throw new OutcomeUnknownError('send', 'the connection was lost before its answer')
      return 'Sent.'
    },
  })
}

const model = () => scriptedModel([respond(call('send', {}, { id: 'c1' })), respond(say('done'))])

test('the model reads that a call whose answer was lost may have happened, and the result has its id (SE1)', async () => {
  const result = await createAgent({ model: model(), tools: [send()] }).run('Go')
  expect(result.messages[2]).toMatchObject({
    isError: true,
    content: [
      {
        text: 'The result of send is unknown: the connection was lost before its answer. It may have happened.',
      },
    ],
  })
  expect(result.unknown).toEqual(['c1'])
})

test('a call stays unknown, and is named once, if a wrap executes it again (SE1)', async () => {
  const again = {
    name: 'again',
    async *wrapToolCall(call, next) {
      for (let left = 2; ; left--)
        try {
          return yield* next(call)
        } catch (error) {
          if (left === 0) throw error
        }
    },
  } satisfies Middleware
  const result = await createAgent({ model: model(), tools: [send(2)], middleware: [again] }).run('Go')
  expect(result.messages[2]).toMatchObject({ content: [{ text: 'Sent.' }] })
  expect(result.unknown).toEqual(['c1'])
})

test('the run around an agent names the call of the inner run (SE1)', async () => {
  const inner = createAgent({ name: 'inner', model: model(), tools: [send()] })
  const outer = scriptedModel([respond(call('inner', { request: 'Go' }, { id: 'o1' })), respond(say('done'))])
  const tools = [agentTool(inner, { name: 'inner', description: 'Does it.' })]
  expect((await createAgent({ model: outer, tools }).run('Go')).unknown).toEqual(['o1/c1'])
})
