import { callsOf, type ToolCall } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { called, ended, onlyCall, piece, sealed, stream, typesOf, units, used } from '../test/streamed-chunks.ts'

test('a call is started, streamed, closed and sealed, and stays one object (B5, G1, G3)', async () => {
  const { perChunk, message } = await stream([
    piece(3, { id: 'a', name: 'f', delta: '{"x"' }),
    piece(3, { delta: ':1}' }),
    sealed(3),
    ended(),
  ])
  const call: ToolCall = { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }
  expect(perChunk).toEqual([
    [
      { type: 'tool-input-start', id: 'a', name: 'f' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x"' },
    ],
    [
      { type: 'tool-input-delta', id: 'a', delta: ':1}' },
      { type: 'tool-input-closed', call },
    ],
    [{ type: 'tool-call', call }],
    [],
    [],
  ])
  const announced = perChunk.flat().flatMap((event) => ('call' in event ? [event.call] : []))
  expect(new Set([...announced, ...(message?.content ?? [])]).size).toBe(1)
})

test.each(['', ' \n', '{"x":1', '"{}"', '12', 'null', '[{}]', '[1]', '{}', ' { } ', '{x}', '{"x":1]', '\ufeff{"x":1}'])(
  'arguments %j never close (G3)',
  async (text) => {
    const { events } = await stream([...called(text), ...called(...units(text)), ended()])
    expect(typesOf(events)).not.toContain('tool-input-closed')
    expect(typesOf(events)).toContain('tool-call')
  },
)

test('no call is sealed by the next one, by parsing, or by a finish reason while the stream goes on (G4, qC21)', async () => {
  const { perChunk } = await stream([
    piece(0, { id: 'a', name: 'f', delta: '{"x":1}' }),
    piece(1, { id: 'b', name: 'g', delta: '{"y":' }),
    ended(),
    piece(1, { delta: '2}' }),
    used({ inputTokens: 1 }),
  ])
  const calls = perChunk.map((events) => events.filter((event) => event.type === 'tool-call'))
  expect(calls.slice(0, -1).flat()).toEqual([])
  expect(calls.at(-1)).toMatchObject([{ call: { input: { x: 1 } } }, { call: { input: { y: 2 } } }])
})

test('a stated seal takes effect once, and nothing after it changes the call (G4, qR1)', async () => {
  const { perChunk, message } = await stream([
    ...called('{"x":1}'),
    sealed(0),
    sealed(0, '{"x":2}'),
    piece(0, { delta: 'junk', name: 'other', id: 'b' }),
    ended(),
  ])
  expect(perChunk.slice(2).map(typesOf)).toEqual([['tool-call'], [], [], [], []])
  expect(message?.content).toEqual([{ type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }])
})

test('white space and the same text again do not change a closed call (G6)', async () => {
  const { events } = await stream([...called('{"x":1}', ' \n'), sealed(0, '{"x":1} \n'), ended()])
  const calls = events.flatMap((event) => ('call' in event ? [event.call] : []))
  expect(calls).toHaveLength(2)
  expect(calls[1]).toBe(calls[0])
})

test('isWhole tells whether the arguments are complete, whatever they are (P3)', async () => {
  const whole = async (...deltas: readonly string[]) => {
    let answer: boolean | undefined
    await stream([...called(...deltas), (to) => (answer = to.isWhole(0)), ended()])
    return answer
  }
  for (const text of ['{}', '{"x":1}', '{"x":1} ', '[1]', '"{}"', '{"x":1}junk']) expect(await whole(text)).toBe(true)
  for (const text of ['', ' ', '{', '{"x":1', '"{}', '"\\"', '12', 'null']) expect(await whole(text)).toBe(false)
  expect(await whole('{}', '{"x"')).toBe(false)
  await stream([(to) => expect(to.isWhole(7)).toBe(false), ended()])
})

test('the text of a seal replaces the arguments, unless it is empty (G6, qR4)', async () => {
  const { events, message } = await stream([...called('{"x":1}'), sealed(0, '{"x":2}'), ended()])
  expect(events.slice(2)).toMatchObject([
    { type: 'tool-input-closed', call: { input: { x: 1 } } },
    { type: 'tool-call', call: { input: { x: 2 } } },
  ])
  expect(message?.content).toMatchObject([{ input: { x: 2 } }])

  expect(await onlyCall([...called(), sealed(0, '{"x":3}'), ended()])).toMatchObject({ input: { x: 3 } })
  expect(await onlyCall([...called('{"x":1}'), sealed(0, ''), ended()])).toMatchObject({ input: { x: 1 } })
  expect(await onlyCall([...called('{"x":1}'), sealed(0, '{"x":'), ended()])).toMatchObject({ input: '{"x":' })
})

test('junk after a closed call makes it invalid (G6, qC31)', async () => {
  const { events, message } = await stream([...called('{"x":1}', '</s'), ended()])
  expect(typesOf(events)).toEqual([
    'tool-input-start',
    'tool-input-delta',
    'tool-input-closed',
    'tool-input-delta',
    'tool-call',
  ])
  const call = message && callsOf(message)[0]
  expect(call).toMatchObject({ input: '{"x":1}</s', inputError: expect.stringContaining('not valid JSON') })
  expect(events.at(-1)).toEqual({ type: 'tool-call', call })
})

test.each(['length', 'content-filter', 'other'] as const)(
  'with the finish reason %s only stated seals are calls, and the others are in the message (G4, qC22, qR6)',
  async (reason) => {
    const { events, message } = await stream([
      piece(0, { id: 'a', name: 'f', delta: '{"x":1}' }),
      sealed(0),
      piece(1, { id: 'b', name: 'g', delta: '{"y":2}' }),
      piece(2, { id: 'c', name: 'h', delta: '{"z":' }),
      piece(3, { delta: '{}' }),
      ended(reason),
    ])
    expect(events.filter((event) => event.type === 'tool-call')).toMatchObject([{ call: { id: 'a' } }])
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
        { type: 'tool-call', id: 'b', name: 'g', input: { y: 2 } },
        { type: 'tool-call', id: 'c', name: 'h', input: '{"z":', inputError: expect.any(String) },
        { type: 'tool-call', id: 'call_1', name: '', input: {} },
      ],
      finishReason: reason,
    })
  },
)

test('calls of a response that ended with stop are sealed as well (G4, qC19)', async () => {
  expect(typesOf((await stream([...called('{"x":1}'), ended('stop')])).events)).toContain('tool-call')
})
