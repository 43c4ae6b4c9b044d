import { callsOf } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { called, ended, named, piece, said, sealed, stream, thought, typesOf, used } from '../test/streamed-chunks.ts'

test('text is shown as it arrives and joined in the message (B4)', async () => {
  const { perChunk, message } = await stream([said('Hel'), said('lo'), ended('stop')])
  expect(perChunk).toEqual([[{ type: 'text-delta', delta: 'Hel' }], [{ type: 'text-delta', delta: 'lo' }], [], []])
  expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
})

test('text, reasoning and calls are in the order in which they began (G12, qC27)', async () => {
  const { message } = await stream([
    thought('hm'),
    said('one '),
    piece(7, { id: 'a', name: 'f' }),
    said('two'),
    piece(7, { delta: '{"x":1}' }),
    said(' three'),
    ended(),
  ])
  expect(message?.content).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'one ' },
    { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
    { type: 'text', text: 'two three' },
  ])
})

test('pieces with one label make one part, and labels of text, reasoning and calls are separate (G12)', async () => {
  const { message } = await stream([
    said('a', { label: 0 }),
    said('b', { label: 1 }),
    thought('c', { label: 0 }),
    piece(0, { id: 'x', name: 'f' }),
    said('A', { label: 0 }),
    thought('C', { label: 0 }),
    ended(),
  ])
  expect(message?.content).toEqual([
    { type: 'text', text: 'aA' },
    { type: 'text', text: 'b' },
    { type: 'reasoning', text: 'cC' },
    { type: 'tool-call', id: 'x', name: 'f', input: {} },
  ])
})

test('metadata is merged per provider, and is enough to make a part (G12, qC38)', async () => {
  const { events, message } = await stream([
    thought('', { label: 'r', metadata: { p: { signature: 'S' }, q: 1 } }),
    thought('', { label: 'r', metadata: { p: { more: true }, q: 2 } }),
    said('hi'),
    said('', { metadata: { p: { cited: [1] } } }),
    piece(0, { id: 'a', name: 'f', metadata: { p: { thought: 'T' } } }),
    piece(0, { metadata: JSON.parse('{"__proto__":{"polluted":true}}') }),
    ended(),
  ])
  expect(message?.content).toEqual([
    { type: 'reasoning', text: '', providerMetadata: { p: { signature: 'S', more: true }, q: 2 } },
    { type: 'text', text: 'hi', providerMetadata: { p: { cited: [1] } } },
    {
      type: 'tool-call',
      id: 'a',
      name: 'f',
      input: {},
      providerMetadata: JSON.parse('{"p":{"thought":"T"},"__proto__":{"polluted":true}}'),
    },
  ])
  expect(Object.getPrototypeOf(message?.content[2]?.providerMetadata)).toBe(Object.prototype)
  expect(typesOf(events)).toEqual(['text-delta', 'tool-input-start', 'tool-call'])
})

test('an empty piece makes no event, and neither begins nor splits a part (G12, qC24)', async () => {
  const { events, message } = await stream([said('a'), thought('', { label: 'r' }), said(''), said('b'), ended('stop')])
  expect(typesOf(events)).toEqual(['text-delta', 'text-delta'])
  expect(message?.content).toEqual([{ type: 'text', text: 'ab' }])
})

test('a surrogate pair that was cut is shown whole (qC35)', async () => {
  const { events, message } = await stream([
    said('東京\ud83c', { label: 't' }),
    thought('\ud83c', { label: 'r' }),
    said('\udf0d!', { label: 't' }),
    thought('\udf0d', { label: 'r' }),
    ...called('{"a":"\ud83c', '\udf0d"}'),
    ended(),
  ])
  expect(events.flatMap((event) => ('delta' in event ? [event.delta] : []))).toEqual([
    '東京',
    '🌍!',
    '🌍',
    '{"a":"',
    '🌍"}',
  ])
  expect(message?.content).toMatchObject([{ text: '東京🌍!' }, { text: '🌍' }, { input: { a: '🌍' } }])
})

test('half a surrogate pair that ends the response is shown at its end (qC35)', async () => {
  const { perChunk, message } = await stream([said('a\ud83c'), ...called('"\ud83c'), ended()])
  expect(perChunk.at(-1)?.slice(0, 2)).toEqual([
    { type: 'text-delta', delta: '\ud83c' },
    { type: 'tool-input-delta', id: 'a', delta: '\ud83c' },
  ])
  expect(message?.content).toMatchObject([{ text: 'a\ud83c' }, { input: '"\ud83c' }])
})

test('usage, response data, metadata and calls after a seal and a finish are in the message (G15)', async () => {
  const { events, message } = await stream([
    named({ id: 'r1', model: 'm' }),
    used({ inputTokens: 10, outputTokens: 1 }),
    ...called('{"x":1}'),
    sealed(0),
    ended('stop'),
    piece(0, { metadata: { p: { signature: 'S' } } }),
    piece(1, { id: 'b', name: 'g' }),
    named({ finishReason: 'tool_use' }),
    used({ outputTokens: 20 }),
    ended('tool-calls'),
  ])
  expect(message).toEqual({
    role: 'assistant',
    content: [
      { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 }, providerMetadata: { p: { signature: 'S' } } },
      { type: 'tool-call', id: 'b', name: 'g', input: {} },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 10, outputTokens: 20 },
    response: { id: 'r1', model: 'm', finishReason: 'tool_use' },
  })
  // An earlier event is not changed.
  expect(events.find((event) => event.type === 'tool-call')).toEqual({
    type: 'tool-call',
    call: { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
  })
})

test('the result of a call that the provider ran is stored with the call (G16)', async () => {
  const { events, message } = await stream([
    ...called('{"q":1}'),
    piece(0, { providerResult: { found: 3 } }),
    sealed(0),
    ended('stop'),
  ])
  const call = { type: 'tool-call', id: 'a', name: 'f', input: { q: 1 }, providerResult: { found: 3 } }
  expect(message?.content).toEqual([call])
  expect(message && callsOf(message)).toEqual([])
  expect(events.at(-1)).toEqual({ type: 'tool-call', call })
})

test('an empty response is a message without content', async () => {
  expect((await stream([used({}), ended('stop')])).message).toEqual({
    role: 'assistant',
    content: [],
    finishReason: 'stop',
  })
})
