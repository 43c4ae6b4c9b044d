import { callsOf } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { failureOf, read } from '../test/ask.ts'
import { chat } from '../test/wires.ts'

const role = { role: 'assistant', content: '' }
const f = { tool_calls: [{ index: 0, id: 'call_a', function: { name: 'f', arguments: '{"x":1}' } }] }
const again = { tool_calls: [{ index: 0, id: 'call_b', function: { name: 'f', arguments: '{"x":1}' } }] }

/** Chunks of the response with this id; the last one has a finish reason. */
function under(id: string | undefined, ...deltas: (object | string)[]): object[] {
  return deltas.map((delta) => {
    const said = typeof delta === 'string' ? { delta: {}, finish_reason: delta } : { delta, finish_reason: null }
    return { id, model: 'm', choices: [{ index: 0, ...said }] }
  })
}

test.each([
  ['after a call', [...under('1', role, f), ...under('2', role, again, 'tool_calls')]],
  ['after a finish reason', [...under('1', role, f, 'tool_calls'), ...under('2', role, again, 'tool_calls')]],
  [
    'after a text that has ended',
    [...under('1', role, { content: 'Hi' }, 'stop'), ...under('2', role, { content: 'Hi' }, 'stop')],
  ],
  [
    'with a text in the chunk with its role',
    [...under('1', role, f), ...under('2', { ...role, content: 'Hi' }, 'stop')],
  ],
  [
    'after a call in the legacy format',
    [...under('1', role, { function_call: { name: 'f', arguments: '{}' } }), ...under('2', role, f, 'stop')],
  ],
])('a second response %s is a retryable error (P1, qT14)', async (_, chunks) => {
  expect(await failureOf(read(chat, chunks))).toMatchObject({ code: 'stream_restarted', retryable: true })
})

test.each([
  [
    'every chunk has a new id, and the role',
    ['1', '2', '3', '4'].flatMap((id, i) => under(id, { ...role, ...[role, f, again, {}][i] })),
  ],
  ['the id changes in a chunk without the role', [...under('1', role, f), ...under('2', again)]],
  ['chunks without an id come between', [...under('1', role, f), ...under(undefined, role), ...under('1', again)]],
  [
    'the response before only said that it had no calls and had not ended',
    [...under('1', role, { tool_calls: [null] }, 'null', { content: 'Hi' }), ...under('2', { ...role, ...f })],
  ],
  ['the last chunk has another id and the role, but no content', [...under('1', role, f, again), ...under('2', role)]],
])('not a second response: %s (P1, qC40)', async (_, chunks) => {
  const { message } = await read(chat, [...chunks, ...under('9', 'tool_calls')])
  expect(callsOf(message).map(({ name, input }) => [name, input])).toContainEqual(['f', { x: 1 }])
})

test('a gateway that keeps the connection open with its own id has begun no response (P1)', async () => {
  const { message } = await read(chat, [...under('gateway', role, role), ...under('1', role, f, 'tool_calls')])
  expect(callsOf(message)).toMatchObject([{ id: 'call_a' }])
})

test('a text that another host continues is one text (P1)', async () => {
  const { message } = await read(chat, [
    ...under('1', role, { content: 'Hel' }),
    ...under('2', role, { content: 'lo' }, 'stop'),
  ])
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
})
