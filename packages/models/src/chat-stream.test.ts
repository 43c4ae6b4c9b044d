import type { AssistantMessage, Message, ToolCall } from '@meanwhile/core'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { ask, bodyOf, failureOf, read } from '../test/ask.ts'
import { compatible } from '../test/hosts.ts'
import { chat, chatChunk } from '../test/wires.ts'

type Piece = { index?: number | null; id?: string | null; n?: string | null; a?: unknown }

/** Each piece in its own chunk. */
function pieces(...list: Piece[]): object[] {
  return list.map(({ index, id, n, a }) =>
    chatChunk({ tool_calls: [{ index, id, function: { name: n, arguments: a } }] }),
  )
}

async function messageOf(...events: object[]): Promise<AssistantMessage> {
  return (await read(chat, events)).message
}

async function callsOf(...list: Piece[]): Promise<[string, string, unknown][]> {
  const { content } = await messageOf(...pieces(...list), chatChunk({}, 'tool_calls'))
  return content
    .filter((part): part is ToolCall => part.type === 'tool-call')
    .map((call) => [call.id, call.name, call.input])
}

test('calls are distinguished by their index, in any interleaving (G9, qC1)', async () => {
  const calls = await callsOf(
    { index: 0, id: 'a', n: 'f', a: '' },
    { index: 0, a: '{"x":' },
    { index: 1, id: 'b', n: 'g', a: '' },
    { index: 0, a: '1}' },
    { index: 1, a: '{}' },
  )
  expect(calls).toEqual([
    ['a', 'f', { x: 1 }],
    ['b', 'g', {}],
  ])
})

test('an index continues its call even if its id changes, until a name begins another (G9, qC6)', async () => {
  const calls = await callsOf(
    { index: 0, id: 'a', n: 'f', a: '{"x":' },
    { index: 0, id: 'b', a: '1}' },
    { index: 0, id: 'c', n: 'g', a: '{}' },
  )
  expect(calls).toEqual([
    ['a', 'f', { x: 1 }],
    ['c', 'g', {}],
  ])
})

test('calls without an index are distinguished by their id (G9, qC2)', async () => {
  const calls = await callsOf({ id: 'a', n: 'f', a: '{"x":1}' }, { id: 'b', n: 'g', a: '{"y":' }, { id: 'b', a: '2}' })
  expect(calls).toEqual([
    ['a', 'f', { x: 1 }],
    ['b', 'g', { y: 2 }],
  ])
})

test('a piece with neither index nor id continues the latest call (G9, qC3)', async () => {
  const calls = await callsOf(
    { id: 'a', n: 'f', a: '' },
    { a: '{"x":' },
    { a: '1}' },
    { id: 'b', n: 'g', a: '' },
    { a: '{"y":2}' },
  )
  expect(calls).toEqual([
    ['a', 'f', { x: 1 }],
    ['b', 'g', { y: 2 }],
  ])
})

test.each<[string, number[]]>([
  ['begins with 1', [1, 2]],
  ['is sparse', [1, 3]],
  ['is always 1', [1, 1]],
  ['is always 0', [0, 0]],
])('calls keep their order when the index %s (G9, qC5)', async (_, [first, second]) => {
  const calls = await callsOf(
    { index: first ?? 0, id: 'a', n: 'f', a: '{"x":' },
    { index: first ?? 0, a: '1}' },
    { index: second ?? 0, id: 'b', n: 'g', a: '{"y":' },
    { index: second ?? 0, a: '2}' },
  )
  expect(calls).toEqual([
    ['a', 'f', { x: 1 }],
    ['b', 'g', { y: 2 }],
  ])
})

test('without ids another name begins a call only after arguments have arrived (G9, qC9, qC44)', async () => {
  const calls = await callsOf(
    { index: 0, n: 'f', a: '' },
    { index: 0, n: 'f', a: '{"x":1}' },
    { index: 0, n: 'g', a: '{"y":' },
    { index: 0, n: 'g', a: '2}' },
  )
  expect(calls).toEqual([
    ['call_1', 'f', { x: 1 }],
    ['call_2', 'g', { y: 2 }],
  ])
  expect(await callsOf({ index: 0, n: 'get_' }, { index: 0, n: 'weather', a: '{}' })).toEqual([
    ['call_1', 'get_weather', {}],
  ])
})

test('an id and a name in every piece are reported once (qC6, qC9)', async () => {
  const calls = await callsOf(
    { index: 0, id: 'a', n: 'read_file', a: '{"x":' },
    { index: 0, id: 'a', n: 'read_file', a: '1}' },
  )
  expect(calls).toEqual([['a', 'read_file', { x: 1 }]])
})

test('empty and null fields are ignored (qC8, qC12)', async () => {
  const calls = await callsOf(
    { index: 0, id: 'a', n: 'f', a: null },
    { index: 0, id: '', n: '', a: '{"x":' },
    { index: 0, id: null, n: null, a: '1}' },
  )
  expect(calls).toEqual([['a', 'f', { x: 1 }]])
})

test('a name may come late (qC11)', async () => {
  const calls = await callsOf({ index: 0, id: 'a', n: '', a: '' }, { index: 0, n: 'f', a: '{}' })
  expect(calls).toEqual([['a', 'f', {}]])
})

test('arguments that come as an object become its text (qC16)', async () => {
  expect(await callsOf({ index: 0, id: 'a', n: 'f', a: { x: [1] } })).toEqual([['a', 'f', { x: [1] }]])
})

test('a legacy function call is a call (qC28)', async () => {
  const { content, finishReason } = await messageOf(
    chatChunk({ function_call: { name: 'f', arguments: '{"x":' } }),
    chatChunk({ function_call: { arguments: '1}' } }),
    chatChunk({}, 'function_call'),
  )
  expect(content).toMatchObject([{ type: 'tool-call', name: 'f', input: { x: 1 } }])
  expect(finishReason).toBe('tool-calls')
})

test.each([
  ['stop', 'stop'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['length', 'length'],
  ['content_filter', 'content-filter'],
  ['end_turn', 'stop'],
  ['eos', 'stop'],
  ['tool_use', 'tool-calls'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['sensitive', 'content-filter'],
  ['MAX_TOKENS', 'length'],
  ['a_new_word', 'other'],
])('finish reason %s is %s (qC43)', async (word, reason) => {
  const { finishReason, response } = await messageOf(
    ...pieces({ index: 0, id: 'a', n: 'f', a: '{"x":1}' }),
    chatChunk({}, word),
  )
  expect([finishReason, response?.finishReason]).toEqual([reason, word])
})

test('nothing is sealed before the stream has ended, and pieces after the finish reason count (G4, qC21)', async () => {
  const { events } = await read(chat, [
    ...pieces({ index: 0, id: 'a', n: 'f', a: '{"x":1' }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: ',"y":' } }] }, 'tool_calls'),
    ...pieces({ index: 0, a: '2}' }),
    { id: 'chatcmpl_1', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
  ])
  const call = { type: 'tool-call', id: 'a', name: 'f', input: { x: 1, y: 2 } }
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'a', name: 'f' },
    { type: 'tool-input-delta', id: 'a', delta: '{"x":1' },
    { type: 'tool-input-delta', id: 'a', delta: ',"y":' },
    { type: 'tool-input-delta', id: 'a', delta: '2}' },
    { type: 'tool-input-closed', call },
    { type: 'tool-call', call },
  ])
})

test('empty lists of calls do not split text (qC24)', async () => {
  const { content } = await messageOf(
    chatChunk({ content: 'Hel', tool_calls: [] }),
    chatChunk({ content: 'lo', tool_calls: null }),
    chatChunk({}, 'stop'),
  )
  expect(content).toEqual([{ type: 'text', text: 'Hello' }])
})

test('chunks without choices, choices without delta and a late usage chunk are accepted (qC25)', async () => {
  const message = await messageOf(
    { id: '', model: '', choices: [], prompt_filter_results: [] },
    { id: 'chatcmpl_1', model: 'm', choices: [{ index: 0, finish_reason: null }] },
    chatChunk({ content: 'Hi' }),
    chatChunk({}, 'stop'),
    { id: 'chatcmpl_1', model: 'm', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } },
  )
  expect(message).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi' }],
    finishReason: 'stop',
    usage: { inputTokens: 3, outputTokens: 1 },
    response: { id: 'chatcmpl_1', model: 'm', finishReason: 'stop' },
  })
})

test('a list of content parts is reasoning and text, and is sent back as one (G12, qC26)', async () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
  const message = await messageOf(
    chatChunk({ content: [thinking('H')] }),
    chatChunk({ content: [thinking('m.')] }),
    chatChunk({ content: [{ type: 'text', text: 'Hi' }] }),
    chatChunk({}, 'stop'),
  )
  expect(message.content).toMatchObject([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Hi' },
  ])
  const user: Message = { role: 'user', content: 'Hello' }
  const body = await bodyOf(chat, { messages: [user, message, user] }, compatible, { host: 'mistral' })
  expect(body).toHaveProperty('messages.1', {
    role: 'assistant',
    content: [thinking('Hm.'), { type: 'text', text: 'Hi' }],
  })
})

test('text, a call and text keep their order (G12, qC27)', async () => {
  const { content } = await messageOf(
    chatChunk({ reasoning: 'Hm.' }),
    chatChunk({ content: 'Look: ' }),
    ...pieces({ index: 0, id: 'a', n: 'f', a: '{}' }),
    chatChunk({ content: 'Done.' }),
    chatChunk({}, 'tool_calls'),
  )
  expect(content).toEqual([
    { type: 'reasoning', text: 'Hm.', providerMetadata: { openai: { field: 'reasoning' } } },
    { type: 'text', text: 'Look: ' },
    { type: 'tool-call', id: 'a', name: 'f', input: {} },
    { type: 'text', text: 'Done.' },
  ])
})

test('reasoning in two fields is reported once, a refusal is text, further choices are ignored (qC29)', async () => {
  const { content } = await messageOf(
    chatChunk({ reasoning: 'Hm.', reasoning_content: 'Hm.' }),
    chatChunk({ refusal: 'No.' }),
    { id: 'chatcmpl_1', choices: [{ index: 1, delta: { content: 'Yes!' }, finish_reason: 'stop' }] },
    chatChunk({}, 'stop'),
  )
  expect(content).toMatchObject([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'No.' },
  ])
})

test('a malformed call of Gemini is a retryable error with its word, and the partial message is kept (qG4)', async () => {
  const failure = await failureOf(
    read(chat, [chatChunk({ content: 'Hm' }), chatChunk({}, 'function_call_filter: MALFORMED_FUNCTION_CALL')]),
  )
  expect(failure).toMatchObject({
    name: 'ModelError',
    code: 'finish_reason_error',
    message: expect.stringContaining('MALFORMED_FUNCTION_CALL'),
    retryable: true,
    partial: { content: [{ type: 'text', text: 'Hm' }] },
  })
})

test('a signature without a call is sent back with the message (qC38, G12)', async () => {
  const signed = { extra_content: { google: { thought_signature: 'c2ln' } } }
  const message = await messageOf(chatChunk({ content: 'Hi' }), chatChunk(signed), chatChunk({}, 'stop'))
  expect(message.content).toEqual([{ type: 'text', text: 'Hi', providerMetadata: { openai: signed } }])
  expect(await bodyOf(chat, { messages: [{ role: 'user', content: 'Hello' }, message] }, compatible)).toMatchObject({
    messages: [{}, { role: 'assistant', content: 'Hi', ...signed }],
  })
})

test('details of the reasoning are joined and sent back completely (G12, qC41)', async () => {
  const text = { type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1' }
  const summary = { type: 'reasoning.summary', index: 1 }
  const secret = { type: 'reasoning.encrypted', index: 2, data: 'c2ln' }
  const message = await messageOf(
    chatChunk({ reasoning: 'H', reasoning_details: [{ ...text, text: 'H', signature: null }] }),
    chatChunk({ reasoning: 'm.', reasoning_details: [{ ...text, text: 'm.' }] }),
    chatChunk({ reasoning_details: [{ ...text, text: '', signature: 's' }, { ...summary, summary: 'On' }, null] }),
    chatChunk({ content: 'Hi', reasoning_details: [{ ...summary, summary: 'e' }] }),
    chatChunk({ reasoning_details: [secret, secret] }),
    chatChunk({}, 'stop'),
  )
  const reasoning_details = [{ ...text, text: 'Hm.', signature: 's' }, { ...summary, summary: 'One' }, secret, secret]
  expect(message.content).toEqual([
    { type: 'reasoning', text: 'Hm.', providerMetadata: { openai: { field: 'reasoning', reasoning_details } } },
    { type: 'text', text: 'Hi' },
  ])
  expect(await bodyOf(chat, { messages: [{ role: 'user', content: 'Hello' }, message] }, compatible)).toMatchObject({
    messages: [{}, { role: 'assistant', content: 'Hi', reasoning: 'Hm.', reasoning_details }],
  })
})

test('a later finish reason does not override one that stopped the response early (G4, qC42)', async () => {
  const call = pieces({ index: 0, id: 'a', n: 'f', a: '{"x":1}' })
  const { events, message } = await read(chat, [...call, chatChunk({}, 'length'), chatChunk({}, 'tool_calls')])
  expect(events.map(({ type }) => type)).not.toContain('tool-call')
  expect([message.finishReason, message.response?.finishReason]).toEqual(['length', 'length'])
})

test('an error that is only a sentence is reported (qT11)', async () => {
  const failure = await failureOf(read(chat, [chatChunk({ content: 'Hm' }), { error: 'model crashed' }]))
  expect(failure).toMatchObject({ name: 'ModelError', code: 'unknown', message: 'model crashed', retryable: false })
})

test('a call `parallel` is an ordinary call if it is declared, or if one of its calls is not (qC37)', async () => {
  const uses = [{ recipient_name: 'functions.f', parameters: { x: 1 } }, { recipient_name: 'g' }]
  const namesOf = async (declared: readonly string[], tool_uses: unknown = uses) => {
    const events = [
      chatChunk({
        tool_calls: [{ index: 0, function: { name: 'parallel', arguments: JSON.stringify({ tool_uses }) } }],
      }),
      chatChunk({}, 'tool_calls'),
    ]
    const script = [
      recordedResponse(
        chat.name,
        events.map((event) => JSON.stringify(event)),
      ),
    ]
    const tools = declared.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }))
    const { message } = await ask(chat.model(mockModels({ script }).fetch), { tools })
    return message.content.map((part) => (part.type === 'tool-call' ? [part.name, part.input] : []))
  }
  const plain = (tool_uses: unknown) => [['parallel', { tool_uses }]]
  expect(await namesOf(['f', 'g'])).toEqual([
    ['f', { x: 1 }],
    ['g', {}],
  ])
  expect(await namesOf(['f', 'g', 'parallel'])).toEqual(plain(uses))
  expect(await namesOf(['f'])).toEqual(plain(uses))
  expect(await namesOf(['f'], [])).toEqual(plain([]))
  expect(await namesOf(['f'], [7])).toEqual(plain([7]))
  expect(await namesOf(['f'], 'f')).toEqual(plain('f'))
})

/** The message that is sent back after this response. */
async function sentBack(...events: object[]): Promise<unknown> {
  const message = await messageOf(...events)
  const body = await bodyOf(chat, { messages: [{ role: 'user', content: 'Hello' }, message] }, compatible)
  return (body as { messages: unknown[] }).messages[1]
}

test('thinking blocks are joined up to their signature and sent back, without those that have none (G12, qC59)', async () => {
  const thinking = (text: string, signature = '') => ({ type: 'thinking', thinking: text, signature })
  const redacted = { type: 'redacted_thinking', data: 'ZGF0YQ' }
  expect(
    await sentBack(
      chatChunk({ reasoning_content: 'H', thinking_blocks: [thinking('H')] }),
      chatChunk({ reasoning_content: 'm.', thinking_blocks: [thinking('m.')] }),
      chatChunk({ thinking_blocks: [thinking('', 's1'), redacted] }),
      chatChunk({ thinking_blocks: [thinking('So.', 's2'), thinking('Unsigned')] }),
      chatChunk({ content: 'Hi' }),
      chatChunk({}, 'stop'),
    ),
  ).toEqual({
    role: 'assistant',
    content: 'Hi',
    reasoning_content: 'Hm.',
    thinking_blocks: [thinking('Hm.', 's1'), redacted, thinking('So.', 's2')],
  })
})

test('encrypted reasoning and fields of the provider are sent back, also if they come after the finish reason (G12, qC59)', async () => {
  const detail = { type: 'reasoning.encrypted', data: 'c2ln', index: 0 }
  expect(
    await sentBack(
      chatChunk({ reasoning_text: 'Hm.', provider_specific_fields: { a: 1, b: null } }),
      chatChunk({ content: 'Hi' }),
      chatChunk({}, 'stop'),
      chatChunk({ reasoning_opaque: 'c2ln', reasoning_details: [detail], provider_specific_fields: { c: [2] } }),
      { id: 'chatcmpl_1', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } },
    ),
  ).toEqual({
    role: 'assistant',
    content: 'Hi',
    reasoning_text: 'Hm.',
    reasoning_opaque: 'c2ln',
    reasoning_details: [detail],
    provider_specific_fields: { a: 1, c: [2] },
  })
})

test('calls after a finish reason of calls count, and arguments without a call fail it (qC21, qC60, qC61)', async () => {
  const late = pieces({ index: 0, id: 'a', n: 'f', a: '{"x":1}' })
  expect((await messageOf(chatChunk({}, 'tool_calls'), ...late)).content).toMatchObject([{ name: 'f' }])
  const stray = pieces({ index: 1, a: '{"y":2}' })
  expect(await failureOf(messageOf(...late, chatChunk({}, 'stop'), ...stray))).toMatchObject({ code: 'invalid_chunk' })
  expect((await messageOf(...late, ...stray, chatChunk({}, 'length'))).finishReason).toBe('length')
})

test('a call in the chunk of a finish reason that cut the response off starts nothing (qC55, qC22)', async () => {
  const message = { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }] }
  const chunk = { id: 'chatcmpl_1', choices: [{ index: 0, message, finish_reason: 'length' }] }
  const asked = await read(chat, [chunk])
  expect(asked.events).toEqual([])
  expect(asked.message).toMatchObject({ finishReason: 'length', content: [{ id: 'a', name: 'f', input: { x: 1 } }] })
})
