import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { ask } from '../test/ask.ts'
import { chat, chatChunk, claude, responses, type TestWire } from '../test/wires.ts'

/** The message of a response with these events, the result of an agent with it, and what is sent back. */
async function goesBack(wire: TestWire, events: readonly object[], except: readonly string[] = []) {
  const lines = events.map((event) => JSON.stringify(event))
  const mock = mockModels({ script: [recordedResponse(wire.name, lines), { ...respond(say('Later.')), except }] })
  const model = wire.model(mock.fetch)
  const first = await createAgent({ model }).run('Search')
  const { message, messages, finishReason } = first
  await ask(model, { messages: [...messages, { role: 'user', content: 'And now?' }] })
  return { text: first.text, finishReason, message, body: mock.requests[1]?.body }
}

const found = {
  type: 'web_search_tool_result',
  tool_use_id: 'srv_1',
  content: [{ type: 'web_search_result', url: 'u' }],
}

function block(index: number, content: object, ...deltas: readonly object[]): object[] {
  return [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function messages(...blocks: readonly object[][]): object[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } },
    ...blocks.flat(),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ]
}

const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {}, caller: { type: 'direct' } }

test('Anthropic: a call that the provider runs has its result, is not run here, and is sent back unchanged (G16)', async () => {
  const { text, message, body } = await goesBack(
    claude,
    messages(
      block(0, search, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
      block(1, found),
      block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Found.' }),
    ),
  )
  expect(text).toBe('Found.')
  expect(message?.content[0]).toMatchObject({
    type: 'tool-call',
    id: 'srv_1',
    name: 'web_search',
    input: { query: 'x' },
    providerResult: found,
  })
  expect(body).toMatchObject({
    messages: [{}, { content: [{ ...search, input: { query: 'x' } }, found, { type: 'text', text: 'Found.' }] }, {}],
  })
})

test('Anthropic: a result whose call is in an earlier message is sent back unchanged (G16)', async () => {
  // The earlier message is not in this history.
  const { body } = await goesBack(claude, messages(block(0, found), block(1, { type: 'text', text: 'Found.' })), [
    'messages/server-result',
  ])
  expect(body).toMatchObject({ messages: [{}, { content: [found, { text: 'Found.' }] }, {}] })
})

test('Anthropic: a call whose result has not arrived is sent back without one (G16)', async () => {
  const { message, body } = await goesBack(claude, messages(block(0, search), block(1, { type: 'text', text: 'Hm.' })))
  expect(message?.content[0]).toMatchObject({ id: 'srv_1', providerResult: null })
  expect(body).toMatchObject({ messages: [{}, { content: [search, { text: 'Hm.' }] }, {}] })
})

test('Anthropic: the result of a call is in its tool-call event (G1, G16)', async () => {
  const lines = messages(block(0, search), block(1, found)).map((event) => JSON.stringify(event))
  const mock = mockModels({ script: [recordedResponse('anthropic', lines)] })
  const { events, message } = await ask(claude.model(mock.fetch))
  expect(events.find((event) => event.type === 'tool-call')).toEqual({ type: 'tool-call', call: message.content[0] })
})

test.each([
  [
    'web_search',
    { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'x' } },
    { type: 'search', query: 'x' },
  ],
  ['file_search', { type: 'file_search_call', id: 'fs_1', queries: ['x'], results: null }, { queries: ['x'] }],
  ['code_interpreter', { type: 'code_interpreter_call', id: 'ci_1', code: '1+1', container_id: 'c' }, { code: '1+1' }],
  ['image_generation', { type: 'image_generation_call', id: 'ig_1', result: 'iVBOR' }, {}],
  [
    'look',
    { type: 'mcp_call', id: 'mcp_1', name: 'look', arguments: '{"x":1}', output: 'y', server_label: 's' },
    { x: 1 },
  ],
])('Responses: a call of %s is not run, and is sent back unchanged (G16)', async (name, item, input) => {
  const done = { ...item, status: 'completed' }
  const { text, finishReason, message, body } = await goesBack(responses, [
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.output_text.delta', output_index: 1, item_id: 'msg_1', content_index: 0, delta: 'Found.' },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
  ])
  expect(text).toBe('Found.')
  expect(finishReason).toBe('stop')
  expect(message?.content[0]).toMatchObject({ type: 'tool-call', id: item.id, name, input, providerResult: done })
  expect(body).toMatchObject({ input: [{}, done, { role: 'assistant', content: 'Found.' }, {}] })
})

test('Responses: a function call that comes with its result is not run, and both are sent back (G16, qR29)', async () => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"x":1}' }
  const result = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'y', status: 'completed' }
  const { text, finishReason, body } = await goesBack(responses, [
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    { type: 'response.output_item.done', output_index: 0, item: { ...call, id: 'fc_1', status: 'completed' } },
    { type: 'response.output_item.done', output_index: 1, item: result },
    { type: 'response.output_text.delta', output_index: 2, item_id: 'msg_1', content_index: 0, delta: 'Found.' },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
  ])
  expect({ text, finishReason }).toEqual({ text: 'Found.', finishReason: 'stop' })
  expect(body).toMatchObject({ input: [{}, call, result, { role: 'assistant', content: 'Found.' }, {}] })
})

const refusals: readonly (readonly [TestWire, readonly object[]])[] = [
  [chat, [chatChunk({ refusal: 'I cannot.' }), chatChunk({}, 'stop')]],
  [
    responses,
    [
      { type: 'response.refusal.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'I cannot.' },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
    ],
  ],
  [
    claude,
    [
      { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } },
      ...block(0, { type: 'text', text: 'I cannot.' }),
      { type: 'message_delta', delta: { stop_reason: 'refusal' } },
      { type: 'message_stop' },
    ],
  ],
]

test.each(refusals)(
  '$name: a refusal is text, and ends like a response stopped by a content filter',
  async (wire, events) => {
    const lines = events.map((event) => JSON.stringify(event))
    const { message } = await ask(wire.model(mockModels({ script: [recordedResponse(wire.name, lines)] }).fetch))
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'I cannot.' }], finishReason: 'content-filter' })
  },
)
