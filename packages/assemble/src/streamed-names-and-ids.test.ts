import { callsOf } from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { ended, onlyCall, piece, sealed, stream, typesOf } from '../test/streamed-chunks.ts'

test('nothing of a call is shown before its name, and everything with its name (G8, qC11)', async () => {
  const { perChunk } = await stream([
    piece(0, { id: 'a', name: '' }),
    piece(0, { name: null, delta: '{"x"' }),
    piece(0, { delta: ':1}' }),
    sealed(0),
    piece(0, { name: 'f' }),
    ended(),
  ])
  const call = { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }
  expect(perChunk).toEqual([
    [],
    [],
    [],
    [],
    [
      { type: 'tool-input-start', id: 'a', name: 'f' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x"' },
      { type: 'tool-input-delta', id: 'a', delta: ':1}' },
      { type: 'tool-input-closed', call },
      { type: 'tool-call', call },
    ],
    [],
    [],
  ])
})

test('a call is neither shown nor closed while its name may grow (P2)', async () => {
  const { perChunk } = await stream([
    piece(0, { id: 'a', name: 'read', nameMayGrow: true }),
    piece(0, { name: 'read', nameMayGrow: true, delta: '{"x":1}' }),
    piece(0, { name: 'read_file' }),
    piece(0, { name: 'other', nameMayGrow: true }),
    piece(0, { name: 'other' }),
    ended(),
  ])
  const call = { type: 'tool-call', id: 'a', name: 'read_file', input: { x: 1 } }
  expect(perChunk).toEqual([
    [],
    [],
    [
      { type: 'tool-input-start', id: 'a', name: 'read_file' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x":1}' },
      { type: 'tool-input-closed', call },
    ],
    [],
    [],
    [],
    [{ type: 'tool-call', call }],
  ])
})

test('a name that might have grown is final when its call is sealed, or the response has ended (P2)', async () => {
  const open = piece(0, { id: 'a', name: 'read', nameMayGrow: true, delta: '{"x":1}' })
  const call = { type: 'tool-call', id: 'a', name: 'read', input: { x: 1 } }
  const shown = [
    { type: 'tool-input-start', id: 'a', name: 'read' },
    { type: 'tool-input-delta', id: 'a', delta: '{"x":1}' },
    { type: 'tool-input-closed', call },
    { type: 'tool-call', call },
  ]
  expect((await stream([open, sealed(0), ended()])).perChunk).toEqual([[], shown, [], []])
  expect((await stream([open, ended()])).perChunk).toEqual([[], [], shown])
  const cut = await stream([open, ended('length')])
  expect(cut.events).toEqual([])
  expect(cut.message?.content).toEqual([call])
})

test('a call whose first part of the name could be expanded is not expanded if the complete name cannot (P2, qC37)', async () => {
  const expand = () => [{ name: 'f', input: {} }]
  const { events, message } = await stream([
    piece(0, { id: 'a', name: 'parallel', nameMayGrow: true, expand }),
    piece(0, { name: 'parallel_search', delta: '{"x":1}' }),
    ended(),
  ])
  expect(typesOf(events)).toEqual(['tool-input-start', 'tool-input-delta', 'tool-input-closed', 'tool-call'])
  expect(message?.content).toEqual([{ type: 'tool-call', id: 'a', name: 'parallel_search', input: { x: 1 } }])
})

test('text that continued after the brace before the name arrived is not closed by the name (G8)', async () => {
  const { events } = await stream([
    piece(0, { id: 'a', delta: '{"x":1}' }),
    piece(0, { delta: 'junk' }),
    piece(0, { name: 'f' }),
    ended(),
  ])
  expect(typesOf(events)).not.toContain('tool-input-closed')
})

test('a call that never gets a name is sealed without one when the response has ended (G8)', async () => {
  const { perChunk, message } = await stream([piece(0, { id: 'a', delta: '{"x":1}' }), sealed(0), ended()])
  const call = { type: 'tool-call', id: 'a', name: '', input: { x: 1 } }
  expect(perChunk).toEqual([
    [],
    [],
    [],
    [
      { type: 'tool-input-start', id: 'a', name: '' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x":1}' },
      { type: 'tool-call', call },
    ],
  ])
  expect(message?.content).toEqual([call])
})

test('labels distinguish calls, whatever they are and in whatever order they come (G9, qC1, qC5, qC6, qC9)', async () => {
  const { message } = await stream([
    piece(3, { id: 'a', name: 'f', delta: '{"x":' }),
    piece('3', { id: 'b', name: 'g', delta: '{"y":' }),
    piece(3, { id: 'a', name: 'f', delta: '1}' }),
    piece(1, { id: 'c', name: 'h' }),
    piece('3', { id: null, name: null, delta: '2}' }),
    ended(),
  ])
  expect(message?.content).toEqual([
    { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
    { type: 'tool-call', id: 'b', name: 'g', input: { y: 2 } },
    { type: 'tool-call', id: 'c', name: 'h', input: {} },
  ])
})

test('a missing, empty, repeated or taken id is replaced by a generated one everywhere (G10)', async () => {
  const ids: (string | undefined)[] = [undefined, '', 'a', 'a', 'taken', 'call_3', undefined]
  const { events, message } = await stream([...ids.map((id, label) => piece(label, { id, name: 'f' })), ended()], {
    takenIds: ['taken', 'taken_1', 'call_1'],
  })
  const made = ['call_2', 'call_3', 'a', 'a_1', 'taken_2', 'call_3_1', 'call_4']
  expect(message && callsOf(message).map((call) => call.id)).toEqual(made)
  for (const type of ['tool-input-start', 'tool-call'] as const) {
    expect(events.flatMap((event) => (event.type === type ? ['id' in event ? event.id : event.call.id] : []))).toEqual(
      made,
    )
  }
})

// No call is compared with all earlier ones.
test('calls that share an id get separate ids as fast as they arrive (P3, G10)', () =>
  expectLinear(1_000, async (count) => {
    const chunks = Array.from({ length: count }, (_, label) => piece(label, { id: 'a', name: 'f' }))
    const { message } = await stream([...chunks, ended()], { takenIds: ['a'] })
    expect(message && callsOf(message).map(({ id }) => id)).toEqual(chunks.map((_, label) => `a_${label + 1}`))
  }))

test('the first id that is not empty counts (G10, qC6)', async () => {
  const chunks = [piece(0, { id: '' }), piece(0, { id: 'a' }), piece(0, { id: 'b', name: 'f' }), ended()]
  expect(await onlyCall(chunks)).toMatchObject({ id: 'a' })
})

test('an id that arrives after another one is in use is ignored (G10)', async () => {
  const { events, message } = await stream([
    piece(0, { name: 'f' }),
    piece(0, { id: 'late', delta: '{"x":1}' }),
    ended(),
  ])
  expect(events.map((event) => ('id' in event ? event.id : 'call' in event && event.call.id))).toEqual(
    Array(4).fill('call_1'),
  )
  expect(message?.content).toMatchObject([{ id: 'call_1' }])
})
