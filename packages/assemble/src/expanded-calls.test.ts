import { ModelError } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { assembled, type Chunk } from '../test/assembled.ts'
import type { CallPiece } from './assembler.ts'

/** A call that contains the calls in its input. */
const expand: CallPiece['expand'] = (input) =>
  Array.isArray(input) ? input.map((name) => ({ name, input: {} })) : undefined

const wrapped =
  (delta: string): Chunk =>
  (to) =>
    to.call(0, { id: 'p', name: 'all', delta, expand })

const ended: Chunk = (to) => to.finish('tool-calls')

test('a call that contains others is shown as those, at its seal, in its place (qC37)', async () => {
  const { events, message } = await assembled(
    (to) => to.text('Look: '),
    wrapped('["f",'),
    wrapped('"g"]'),
    (to) => to.text('Done.'),
    ended,
  )
  const f = { type: 'tool-call', id: 'p', name: 'f', input: {} }
  const g = { type: 'tool-call', id: 'p_1', name: 'g', input: {} }
  expect(message.content).toEqual([{ type: 'text', text: 'Look: ' }, f, g, { type: 'text', text: 'Done.' }])
  expect(events).toEqual([
    { type: 'text-delta', delta: 'Look: ' },
    { type: 'text-delta', delta: 'Done.' },
    { type: 'tool-input-start', id: 'p', name: 'f' },
    { type: 'tool-input-delta', id: 'p', delta: '{}' },
    { type: 'tool-call', call: f },
    { type: 'tool-input-start', id: 'p_1', name: 'g' },
    { type: 'tool-input-delta', id: 'p_1', delta: '{}' },
    { type: 'tool-call', call: g },
  ])
})

test('a stated seal expands a call before the response ends (G4, qC37)', async () => {
  const { events } = await assembled(
    wrapped('["f"]'),
    (to) => to.seal(0),
    (to) => to.text('Done.'),
    ended,
  )
  expect(events.map(({ type }) => type)).toEqual(['tool-input-start', 'tool-input-delta', 'tool-call', 'text-delta'])
})

test('a call that contains no others is an ordinary one (qC37)', async () => {
  const { events, message } = await assembled(wrapped('{"x":'), wrapped('1}'), ended)
  const call = { type: 'tool-call', id: 'p', name: 'all', input: { x: 1 } }
  expect(message.content).toEqual([call])
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'p', name: 'all' },
    { type: 'tool-input-delta', id: 'p', delta: '{"x":1}' },
    { type: 'tool-call', call },
  ])
})

test('a call that is not JSON is never expanded (G7, qC37)', async () => {
  const { message } = await assembled(wrapped('["f"'), ended)
  expect(message.content).toMatchObject([{ name: 'all', input: '["f"', inputError: expect.any(String) }])
})

test('a call that was cut off before its seal is in the partial message unexpanded (G11, qC37)', async () => {
  const failure = await assembled(wrapped('["f"]')).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ModelError)
  expect(failure).toMatchObject({ partial: { content: [{ id: 'p', name: 'all', input: ['f'] }] } })
})
