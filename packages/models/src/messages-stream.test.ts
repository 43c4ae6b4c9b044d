import { type AssistantMessage, callsOf, DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { bodyOf, failureOf, read } from '../test/ask.ts'
import { resultsOf } from '../test/history.ts'
import { readParsed } from '../test/parsed.ts'
import { claude } from '../test/wires.ts'

const begin = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'm', usage: { input_tokens: 5, output_tokens: 1 } },
}

async function messageOf(...events: object[]): Promise<AssistantMessage> {
  return (await read(claude, [begin, ...events, ...end('end_turn')])).message
}

function start(index: number, block: object): object {
  return { type: 'content_block_start', index, content_block: block }
}

function delta(index: number, piece: object): object {
  return { type: 'content_block_delta', index, delta: piece }
}

function stop(index: number): object {
  return { type: 'content_block_stop', index }
}

function end(reason: string, usage?: object): object[] {
  return [{ type: 'message_delta', delta: { stop_reason: reason }, usage }, { type: 'message_stop' }]
}

test('a call is sealed when its block stops, before the response ends (G4)', async () => {
  const { events } = await read(claude, claude.call('{"x":1}'))
  const call = { type: 'tool-call', id: 'call_1', name: 'f', input: { x: 1 } }
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'call_1', name: 'f' },
    { type: 'tool-input-delta', id: 'call_1', delta: '{"x":1}' },
    { type: 'tool-input-closed', call },
    { type: 'tool-call', call },
  ])
})

test('the input of a block start is a placeholder if deltas follow, and complete if none do (qA2, qA3)', async () => {
  const { content } = await messageOf(
    start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '' }),
    stop(0),
    start(1, { type: 'tool_use', id: 'b', name: 'f', input: { x: 1 } }),
    stop(1),
    start(2, { type: 'tool_use', id: 'c', name: 'f', input: { x: 1 } }),
    delta(2, { type: 'input_json_delta', partial_json: '{"x":2}' }),
    stop(2),
  )
  expect(content).toEqual([
    { type: 'tool-call', id: 'a', name: 'f', input: {} },
    { type: 'tool-call', id: 'b', name: 'f', input: { x: 1 } },
    { type: 'tool-call', id: 'c', name: 'f', input: { x: 2 } },
  ])
})

test('thinking keeps its signature, redacted thinking its data (G12)', async () => {
  const { content } = await messageOf(
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
    delta(0, { type: 'thinking_delta', thinking: '.' }),
    delta(0, { type: 'signature_delta', signature: 'EqQB' }),
    stop(0),
    start(1, { type: 'redacted_thinking', data: 'EmwK' }),
    stop(1),
    start(2, { type: 'thinking', thinking: '', signature: '' }),
    delta(2, { type: 'signature_delta', signature: 'omitted' }),
    stop(2),
    start(3, { type: 'text', text: 'H' }),
    delta(3, { type: 'text_delta', text: 'i' }),
    stop(3),
  )
  expect(content).toEqual([
    { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'EqQB' } } },
    { type: 'reasoning', text: '', providerMetadata: { anthropic: { data: 'EmwK' } } },
    { type: 'reasoning', text: '', providerMetadata: { anthropic: { signature: 'omitted' } } },
    { type: 'text', text: 'Hi' },
  ])
})

test('pings and unknown events and blocks are ignored (qA1)', async () => {
  const { content } = await messageOf(
    { type: 'ping' },
    { type: 'something_new', index: 0 },
    start(0, { type: 'a_new_block', id: 's', name: 'web_search' }),
    delta(0, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
    stop(0),
    start(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'Hi' }),
    delta(1, { type: 'something_new' }),
    stop(1),
  )
  expect(content).toEqual([{ type: 'text', text: 'Hi' }])
})

test('cached input counts as input, later counts replace earlier ones', async () => {
  const usage = {
    input_tokens: null,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 3,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 4 },
  }
  const { message } = await read(claude, [begin, ...end('end_turn', usage)])
  expect(message.usage).toEqual({
    inputTokens: 28,
    outputTokens: 9,
    cacheReadTokens: 20,
    cacheWriteTokens: 3,
    reasoningTokens: 4,
  })
})

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
  ['pause_turn', 'other'],
])('stop reason %s is %s', async (word, reason) => {
  const { message } = await read(claude, [begin, ...end(word)])
  expect([message.finishReason, message.response?.finishReason]).toEqual([reason, word])
})

test.each([
  ['max_tokens', 'length'],
  ['tool_use', 'tool-calls'],
])('a stop seals no call without any input: %s may follow (G4, qA10)', async (word, reason) => {
  const { events, message } = await read(claude, [
    begin,
    start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '' }),
    stop(0),
    ...end(word),
  ])
  const call = { type: 'tool-call', id: 'a', name: 'f', input: {} }
  const sealed = reason === 'tool-calls' ? [{ type: 'tool-call', call }] : []
  expect(events).toEqual([{ type: 'tool-input-start', id: 'a', name: 'f' }, ...sealed])
  expect(message).toMatchObject({ content: [call], finishReason: reason })
})

test('blocks with one index are separate blocks, a call that starts again is one (G9, qA9)', async () => {
  const call = start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} })
  const piece = delta(0, { type: 'input_json_delta', partial_json: '{"x":1}' })
  const { content } = await messageOf(
    start(0, { type: 'thinking', thinking: 'One', signature: 's1' }),
    stop(0),
    start(0, { type: 'thinking', thinking: 'Two', signature: 's2' }),
    stop(0),
    call,
    call,
    piece,
    stop(0),
    call,
    piece,
    stop(0),
  )
  expect(content).toEqual([
    { type: 'reasoning', text: 'One', providerMetadata: { anthropic: { signature: 's1' } } },
    { type: 'reasoning', text: 'Two', providerMetadata: { anthropic: { signature: 's2' } } },
    { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
  ])
})

test('citations, callers, and blocks that are not interpreted are sent back unchanged (G12)', async () => {
  const compaction = { type: 'compaction', content: 'So far.', encrypted_content: 'g', signature: 's' }
  const citation = { type: 'web_search_result_location', url: 'u', title: null, cited_text: 'c', encrypted_index: 'e' }
  const caller = { type: 'code_execution_20260120', tool_id: 'srv_1' }
  const message = await messageOf(
    start(0, { ...compaction, content: null, encrypted_content: null }),
    delta(0, { type: 'compaction_delta', content: 'So far.', encrypted_content: 'g' }),
    stop(0),
    start(1, { type: 'container_upload', file_id: 'file_1' }),
    stop(1),
    start(2, { type: 'text', text: '', citations: [] }),
    delta(2, { type: 'citations_delta', citation }),
    delta(2, { type: 'text_delta', text: 'Found.' }),
    stop(2),
    start(3, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 }, caller }),
    stop(3),
    start(4, { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 }, caller: { type: 'direct' } }),
    stop(4),
  )
  const results = resultsOf(message)
  expect(await bodyOf(claude, { messages: [{ role: 'user', content: 'Go' }, message, ...results] })).toMatchObject({
    messages: [
      {},
      {
        content: [
          compaction,
          { type: 'container_upload', file_id: 'file_1' },
          { type: 'text', text: 'Found.', citations: [citation] },
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 }, caller },
          { type: 'tool_use', id: 'b', name: 'f', input: { x: 2 } },
        ],
      },
      {},
    ],
  })
  expect(message.content.at(-1)).not.toHaveProperty('providerMetadata')
})

test('a call that starts again with another name before its input is complete is an error, and runs with neither name (P2, qA15)', async () => {
  const called = (index: number, block: object) =>
    start(index, { type: 'tool_use', id: 'a', name: 'read', input: {}, ...block })
  const input = (partial_json: string) => delta(0, { type: 'input_json_delta', partial_json })
  const failing = [
    [called(0, {}), called(0, { name: '_file' })],
    [called(0, {}), called(0, { name: '_file', id: 'b' })],
    [called(0, {}), input('{"x"'), called(0, { name: '_file' })],
  ]
  for (const events of failing) {
    const failure = await failureOf(read(claude, [begin, ...events, input('{"x":1}'), stop(0), ...end('tool_use')]))
    expect(failure).toMatchObject({
      code: 'invalid_chunk',
      retryable: true,
      message: 'the call that started as read started again as _file before it ended',
      data: { id: 'a', name: 'read' },
    })
  }
  for (const again of [called(0, {}), called(1, { name: 'write', id: 'b' })]) {
    const { message } = await read(claude, [begin, called(0, {}), again, input('{"x":1}'), stop(0), ...end('tool_use')])
    expect(message.content[0]).toMatchObject({ id: 'a', name: 'read', input: { x: 1 } })
  }
  const { message } = await read(claude, [
    begin,
    called(0, { input: { x: 1 } }),
    called(0, { name: 'write' }),
    stop(0),
    ...end('tool_use'),
  ])
  expect(message.content).toMatchObject([{ name: 'read' }, { name: 'write' }])
})

const called = (index: number, id: string, name = 'f') => start(index, { type: 'tool_use', id, name, input: {} })
const input = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json })
const invalid = { name: 'ModelError', code: 'invalid_chunk', retryable: true }

test('input of a call without a name fails the response, unless the name follows (qA17)', async () => {
  const events = [called(0, 'a', ''), input(0, '{"x":1}'), stop(0), ...end('tool_use')]
  expect(await failureOf(read(claude, [begin, ...events]))).toMatchObject(invalid)
  const { content } = await messageOf(called(0, 'a', ''), called(0, 'a'), input(0, '{"x":1}'), stop(0))
  expect(content).toEqual([{ type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }])
})

test('a call that comes again, and starts twice, is one (P3, qA14, qA18)', async () => {
  const first = [called(0, 'a'), input(0, '{"x":1}'), stop(0)]
  const again = [called(1, 'a'), called(1, 'a'), input(1, '{"x":1}'), stop(1)]
  expect(callsOf(await messageOf(...first, ...again))).toMatchObject([{ id: 'a', name: 'f', input: { x: 1 } }])
  // The names of two calls come late.
  const starts = [called(0, 'a', ''), called(1, 'a', ''), called(0, 'a'), called(1, 'a')]
  const message = await messageOf(...starts, input(0, '{"x":1}'), input(1, '{"x":2}'), stop(0), stop(1))
  expect(callsOf(message).map(({ name, input }) => [name, input])).toEqual([
    ['f', { x: 1 }],
    ['f', { x: 2 }],
  ])
})

const resent = (index: number) => ['{"x"', '{"x":', '{"x":1}'].map((text) => input(index, text))

test('a call whose pieces each repeat all input is the same call when it comes whole (P3, qA18)', async () => {
  const again = [called(1, 'a'), input(1, '{ "x": 1 }'), stop(1)]
  const { content } = await messageOf(called(0, 'a'), ...resent(0), stop(0), ...again)
  expect(content).toEqual([{ type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }])
})

test('pieces of another index continue input whose own pieces each repeat all of it (qA17)', async () => {
  const events = [called(0, 'a'), ...resent(0).slice(0, 2), input(1, '1}'), stop(0)]
  expect(callsOf(await messageOf(...events))).toMatchObject([{ input: { x: 1 } }])
})

test('a call that comes again is one, whatever the limit of its input (P3, qA18)', async () => {
  const long = (more: string) => `{"x":"${'y'.repeat(DEFAULT_INPUT_LIMITS.characters)}${more}"}`
  const events = ['', '', 'z'].flatMap((more, at) => [called(at, 'a'), input(at, long(more)), stop(at)])
  const inputLimits = { ...DEFAULT_INPUT_LIMITS, characters: 2 * DEFAULT_INPUT_LIMITS.characters }
  const { message } = await readParsed(claude, [begin, ...events, ...end('tool_use')], { inputLimits })
  expect(callsOf(message).map(({ id }) => id)).toEqual(['a', 'a_1'])
})

test('an unknown delta opens no block (qA1, qA17)', async () => {
  const events = [called(0, 'a'), delta(1, { type: 'something_new' }), input(1, '{"x":1}'), stop(0)]
  expect(callsOf(await messageOf(...events))).toMatchObject([{ input: { x: 1 } }])
})

test('pieces without an owner that complete no input fail the response, unless it was cut off (qA17)', async () => {
  const events = [called(0, 'a'), input(0, '{'), input(1, '{"x":1}'), stop(0)]
  expect(await failureOf(messageOf(...events))).toMatchObject(invalid)
  const { message } = await read(claude, [begin, ...events, ...end('max_tokens')])
  expect(message).toMatchObject({ content: [{ name: 'f' }], finishReason: 'length' })
})

test('input that is held back has a limit in bytes (qA17)', async () => {
  const events = [called(0, 'a'), input(1, 'x'.repeat(DEFAULT_INPUT_LIMITS.characters + 1))]
  const failure = await failureOf(messageOf(...events))
  expect(failure).toMatchObject({ ...invalid, message: expect.stringContaining('bytes of arguments') })
})

test('an early tool gets no piece of another index before its call ends (qA17)', async () => {
  const events = [called(0, 'a'), input(1, '{"y":2}'), called(1, 'b', 'g'), stop(0), stop(1), ...end('tool_use')]
  const failure = await failureOf(read(claude, [begin, ...events]))
  expect(failure).toMatchObject({ ...invalid, partial: { content: [{ name: 'f', input: {} }] } })
})

test('pieces of thousands of indexes are read as fast as they arrive (qA17)', () =>
  expectLinear(1_000, async (count) => {
    const pieces = Array.from({ length: count }, (_, n) => input(n + 1, n === 0 ? '{"x":"' : 'y'))
    const events = [begin, called(0, 'a'), ...pieces, input(count + 1, '"}'), stop(0), ...end('end_turn')]
    const { message } = await readParsed(claude, events)
    expect(callsOf(message)).toMatchObject([{ input: { x: 'y'.repeat(count - 1) } }])
  }))

test('a call that comes thousands of times is read as fast as it arrives (P3, qA18)', () =>
  expectLinear(500, async (count) => {
    const again = Array.from({ length: count }, (_, n) => [called(n, 'a'), input(n, '{"x":1}'), stop(n)])
    const { message } = await readParsed(claude, [begin, ...again.flat(), ...end('end_turn')])
    expect(callsOf(message)).toHaveLength(1)
  }))

test('after a response that was cut off, the whole input of a lost call does not start another one (qA17)', async () => {
  const { events, message } = await read(claude, [
    begin,
    start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{' }),
    delta(1, { type: 'input_json_delta', partial_json: '{"x":1}' }),
    ...end('max_tokens'),
  ])
  expect(events.map(({ type }) => type)).not.toContain('tool-input-closed')
  expect(message.finishReason).toBe('length')
})

test('a call that stops inside its input, and does not come again, is invalid (qA18, qA5)', async () => {
  const { events, message } = await read(claude, claude.call('{"x":'))
  expect(callsOf(message)).toMatchObject([{ input: '{"x":', inputError: expect.anything() }])
  expect(events.at(-1)).toMatchObject({ type: 'tool-call', call: { input: '{"x":' } })
})
