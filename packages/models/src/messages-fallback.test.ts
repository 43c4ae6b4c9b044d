import { createAgent, type Middleware, map, tool } from '@meanwhile/core'
import { respond, say } from '@meanwhile/core/testing'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { bodyOf, read } from '../test/ask.ts'
import { claude } from '../test/wires.ts'

// Anthropic's fallback of the server's side: a model declines in the middle of its answer, and another one goes on in the same stream.

function start(index: number, block: object): object {
  return { type: 'content_block_start', index, content_block: block }
}

function stop(index: number): object {
  return { type: 'content_block_stop', index }
}

const search = { type: 'server_tool_use', name: 'web_search', input: { query: 'x' } }
const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }
const fallback = { type: 'fallback', from: { model: 'm' }, to: { model: 'n' }, trigger: { type: 'refusal' } }

const answer = [
  { type: 'message_start', message: { id: 'msg_1', model: 'm' } },
  start(0, { type: 'thinking', thinking: 'Hm.', signature: 's1' }),
  stop(0),
  start(1, { type: 'text', text: 'Look: ' }),
  stop(1),
  start(2, { ...search, id: 'srv_1' }),
  stop(2),
  start(3, found),
  stop(3),
  start(4, { ...search, id: 'srv_2' }),
  stop(4),
  start(5, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } }),
  stop(5),
  start(6, fallback),
  stop(6),
  start(7, { type: 'thinking', thinking: 'Well.', signature: 's2' }),
  stop(7),
  start(8, { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 } }),
  stop(8),
  { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
  { type: 'message_stop' },
]

test('of a model that declined its text and what was run of its calls goes back, with where the next goes on (qA11)', async () => {
  const { message } = await read(claude, answer)
  expect(message.response).toEqual({ id: 'msg_1', model: 'n', finishReason: 'tool_use' })
  expect(await bodyOf(claude, { messages: [{ role: 'user', content: 'Go' }, message] })).toMatchObject({
    messages: [
      {},
      {
        content: [
          { type: 'text', text: 'Look: ' },
          { ...search, id: 'srv_1' },
          found,
          fallback,
          { type: 'thinking', thinking: 'Well.', signature: 's2' },
          { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 } },
        ],
      },
    ],
  })
})

/** Starts every call as soon as it is sealed. */
const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call' && event.call.name === 'f') run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

test.each([
  ['when the model call stood', [], [2], []],
  ['early', [early], [1, 2], [{ callId: 'a', cause: 'call_withdrawn' }]],
])('a call of a model that declined never counts: started %s (qA11)', async (_, middleware, made, discarded) => {
  const lines = answer.map((event) => JSON.stringify(event))
  const mock = mockModels({ script: [recordedResponse('anthropic', lines), respond(say('Done.'))] })
  const inputs: number[] = []
  const f = tool({
    name: 'f',
    description: 'f',
    input: z.object({ x: z.number() }),
    execute({ x }) {
      inputs.push(x)
    },
  })
  const agent = createAgent({ model: claude.model(mock.fetch), tools: [f], middleware })
  const gone: object[] = []
  const run = agent.stream('Go')
  for await (const event of run) {
    if (event.type === 'tool-discarded') gone.push({ callId: event.callId, cause: event.cause })
  }
  const { text, messages } = await run.result
  expect({ text, inputs, gone }).toEqual({ text: 'Done.', inputs: made, gone: discarded })
  expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['b'])
})
