import { expect, test } from 'vitest'
import { called, ended, onlyCall, sealed, stream, units } from '../test/streamed-chunks.ts'

const object = '{"x":1,"y":[2]}'

test.each([
  ['with other white space', '{ "x": 1, "y": [ 2 ] }'],
  ['with its keys in another order', '{"y":[2],"x":1}'],
  ['as a JSON string', JSON.stringify(object)],
  ['as a JSON string, with other white space', JSON.stringify('{ "x": 1,\n"y": [2]}')],
  ['unchanged', object],
  ['three times', `{ "x": 1, "y": [2] } ${JSON.stringify(object)}\n${object}`],
  ['as an empty JSON string', '""'],
])(
  'arguments that are repeated, %s, are the same call, no matter how they are cut (P21, G6, qC18)',
  async (_, again) => {
    for (const deltas of [[object, again], [object + again], units(object + again), [object, ' ', ...units(again)]]) {
      const { events, message } = await stream([...called(...deltas), ended()])
      const calls = events.flatMap((event) => ('call' in event ? [event.call] : []))
      expect(calls).toEqual(Array(2).fill({ type: 'tool-call', id: 'a', name: 'f', input: { x: 1, y: [2] } }))
      expect(calls[1]).toBe(calls[0])
      expect(message?.content).toEqual([calls[0]])
    }
  },
)

test('the same holds for arguments that the seal repeats, and for a repeated placeholder (P21, qC18)', async () => {
  for (const text of ['{ "x": 1 }', JSON.stringify('{"x":1}'), '{"x":1}{"x": 1}']) {
    const { events } = await stream([...called('{"x":1}'), sealed(0, text), ended()])
    const calls = events.flatMap((event) => ('call' in event ? [event.call] : []))
    expect(calls).toMatchObject([{ input: { x: 1 } }, { input: { x: 1 } }])
    expect(calls[1]).toBe(calls[0])
  }
  for (const deltas of [
    ['{}', '""'],
    ['{}', '{}'],
    ['{}', '"{}"', '{ }'],
  ])
    expect(await onlyCall([...called(...deltas), ended()])).toMatchObject({ input: {} })
  // A JSON string (qC34) may be repeated as its contents.
  expect(await onlyCall([...called(JSON.stringify(object), object), ended()])).toMatchObject({ input: object })
})

test.each([
  ['{"x":1}', '{"x":2}'],
  ['{"x":1}', '{"x": 1}', '{"x":2}'],
  ['{"x":1}', JSON.stringify('{"x":2}')],
  ['{"x":1}', JSON.stringify(JSON.stringify('{"x":1}'))],
  ['{"x":1}', '{"x":1'],
  ['{"x":1}', '{}'],
  ['{"x":1}', '{"x": 1}', 'junk'],
  ['{"x":1}', '"junk"'],
  ['[1]', '[2]'],
  ['"{}"', '"{"'],
])('arguments that differ when they are repeated are invalid: %j %j (G7, qC18, qC31)', async (...deltas) => {
  const call = await onlyCall([...called(...deltas), ended()])
  expect(call).toMatchObject({
    input: deltas.join(''),
    inputError: expect.stringMatching(/^arguments are not valid JSON/),
  })
})
