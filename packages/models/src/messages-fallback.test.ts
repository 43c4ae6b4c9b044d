import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Model, map, tool } from '@meanwhile/core'
import { type MockModels, mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { ask } from '../test/ask.ts'
import { resultsOf } from '../test/history.ts'
import { realModels } from '../test/real-models.ts'
import { claude } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

// Anthropic's server-side fallback: a model declines in the middle of its response, and another one continues in the
// same stream.

function start(index: number, block: object): object {
  return { type: 'content_block_start', index, content_block: block }
}

function stop(index: number): object {
  return { type: 'content_block_stop', index }
}

function thought(index: number, thinking: string, signature: string): object[] {
  return [
    start(index, { type: 'thinking', thinking: '', signature: '' }),
    { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking } },
    { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } },
    stop(index),
  ]
}

const search = { type: 'server_tool_use', name: 'web_search', input: { query: 'x' } }
const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }
const fallback = { type: 'fallback', from: { model: 'm' }, to: { model: 'n' }, trigger: { type: 'refusal' } }

const answer = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  ...thought(0, 'Hm.', 's1'),
  start(1, { type: 'text', text: '' }),
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Look: ' } },
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
  ...thought(7, 'Well.', 's2'),
  start(8, { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 } }),
  stop(8),
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
]

const ways: readonly (readonly [string, (fetch: typeof globalThis.fetch) => Model])[] = [
  ['our own adapter', claude.model],
  ...realModels.flatMap(({ wire, title, model }) =>
    wire === 'anthropic'
      ? [[`the AI SDK, ${title}`, (fetch: typeof globalThis.fetch) => aiSdk(model(fetch))] as const]
      : [],
  ),
]

function mocked(): MockModels {
  const lines = answer.map((event) => JSON.stringify(event))
  return mockModels({ script: [recordedResponse('anthropic', lines), respond(say('Done.'))] })
}

test.each(ways)(
  '%s: of a model that declined, its text and the calls that were run for it are sent back (qA11)',
  async (_, model) => {
    const mock = mocked()
    const asked = model(mock.fetch)
    const { message } = await ask(asked)
    await ask(asked, { messages: [{ role: 'user', content: 'Go' }, message, ...resultsOf(message)] })
    expect(mock.requests[1]?.body).toMatchObject({
      messages: [
        {},
        {
          content: [
            { type: 'text', text: 'Look: ' },
            { ...search, id: 'srv_1' },
            found,
            { type: 'fallback', from: { model: 'm' }, to: { model: 'n' } },
            { type: 'thinking', thinking: 'Well.', signature: 's2' },
            { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 } },
          ],
        },
        {},
      ],
    })
  },
)

test('the response belongs to the model that ended it (qA11)', async () => {
  const { message } = await ask(claude.model(mocked().fetch))
  expect(message.response).toEqual({ id: 'msg_1', model: 'n', finishReason: 'tool_use' })
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

const starts = [
  ['after the model call has succeeded', [], [2], []],
  ['early', [early], [1, 2], [{ callId: 'a', cause: 'call_withdrawn' }]],
] as const

test.each(ways.flatMap(([way, model]) => starts.map(([when, ...rest]) => [way, when, model, ...rest] as const)))(
  '%s: a call of a model that declined never counts, started %s (qA11)',
  async (...row) => {
    const [, , model, middleware, made, discarded] = row
    const mock = mocked()
    const inputs: number[] = []
    const f = tool({
      name: 'f',
      description: 'f',
      input: z.object({ x: z.number() }),
      execute({ x }) {
        inputs.push(x)
      },
    })
    const agent = createAgent({ model: model(mock.fetch), tools: [f], middleware })
    const gone: object[] = []
    const run = agent.stream('Go')
    for await (const event of run) {
      if (event.type === 'tool-discarded') gone.push({ callId: event.callId, cause: event.cause })
    }
    const { text, messages } = await run.result
    expect({ text, inputs, gone }).toEqual({ text: 'Done.', inputs: made, gone: discarded })
    expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['b'])
  },
)

const begin = answer.slice(0, 1)
const called = (index: number, block: object) =>
  start(index, { type: 'tool_use', id: 'a', name: 'f', input: {}, ...block })
const input = (index: number, partial_json: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json },
})
const end = answer.slice(-2)

test.each<[string, object[]]>([
  ['is not the one that its model made before', [called(0, { input: { x: 1 } }), stop(0)]],
  ['gets pieces of other indexes, because no other call is open', [called(0, { id: 'b' })]],
  ['runs although another one had no name', [called(0, { id: 'b', name: '' }), input(0, '{"x":2}')]],
  ['runs although input of another one was incomplete', [called(0, { id: 'b' }), input(7, '{"x":')]],
  ['runs although input came after the end of another one', [called(0, { input: { x: 2 } }), stop(0), input(0, '{')]],
])('after another model took over, its call %s (qA11, qA17, qA18)', async (_, before) => {
  const events = [...begin, ...before, start(1, fallback), stop(1), called(2, {}), input(3, '{"x":1}'), stop(2), ...end]
  const mock = mockModels({
    script: [
      recordedResponse(
        'anthropic',
        events.map((event) => JSON.stringify(event)),
      ),
    ],
  })
  const { content } = (await ask(claude.model(mock.fetch))).message
  const ran = content.filter((part) => part.type === 'tool-call' && part.providerResult === undefined)
  expect(ran).toMatchObject([{ name: 'f', input: { x: 1 } }])
})
