import type { ToolCall } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assembled, type Chunk } from '../test/assembled.ts'

/** The call whose arguments arrive in these pieces. */
async function callOf(...pieces: readonly string[]) {
  const { events, message } = await assembled(
    (to) => to.call(0, { id: 'a', name: 'f' }),
    ...pieces.map(
      (delta): Chunk =>
        (to) =>
          to.call(0, { delta }),
    ),
    (to) => to.finish('tool-calls'),
  )
  const shown = events.map((event) => (event.type === 'tool-input-delta' ? event.delta : '')).join('')
  return {
    call: message.content[0] as ToolCall,
    shown,
    closed: events.some(({ type }) => type === 'tool-input-closed'),
  }
}

/** Where to cut a text, or to end a re-send of its beginning. */
function cutsOf(text: string, places: readonly number[]): number[] {
  const cuts = places.map((place) => 1 + Math.floor(place * (text.length - 1)))
  return [...new Set(cuts)].toSorted((a, b) => a - b)
}

function pieces(text: string, cuts: readonly number[]): string[] {
  return [...cuts, text.length].map((end, i) => text.slice(i === 0 ? 0 : cuts[i - 1], end))
}

const inputs = fc.dictionary(
  fc.oneof(fc.constantFrom('a', 'b', '{', '":', ''), fc.string({ maxLength: 3 })),
  fc.oneof(fc.constantFrom('{"a":', '"', '\\', '{'), fc.jsonValue({ maxDepth: 3 })),
  { minKeys: 1, maxKeys: 3 },
)
const places = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 5 })

test('arguments that are sent again with each piece are those of the last one (qC17)', async () => {
  expect(await callOf('{"q', '{"q":"a', '{"q":"a"}')).toMatchObject({
    call: { input: { q: 'a' } },
    shown: '{"q":"a"}',
    closed: true,
  })
})

test('a re-send of complete arguments changes nothing (qC17, G6)', async () => {
  expect(await callOf('{"x":1}', '{"x":1}', '{"x":1} ')).toMatchObject({ call: { input: { x: 1 } }, closed: true })
})

test('a piece that repeats earlier text is not a re-send where it may continue that text (qC17)', async () => {
  expect((await callOf('{"a":', '{"a":1}}')).call.input).toEqual({ a: { a: 1 } })
  expect((await callOf('{"a":[', '{"a":[', '{"a":[1]}]}]}')).call.input).toEqual({ a: [{ a: [{ a: [1] }] }] })
  expect((await callOf('{"a":"', '{\\"a\\":1}"}')).call.input).toEqual({ a: '{"a":1}' })
  // Cut off: it stays as it was, however much its end looks like the complete arguments.
  expect((await callOf('{"a":', '{"a":1}')).call.inputError).toBeDefined()
})

test('that a piece was a re-send may show only later (qC17)', async () => {
  expect((await callOf('{"q":', '{"q":"a', '{"q":"a"}')).call.input).toEqual({ q: 'a' })
  expect((await callOf('{"q":[', '{"q":[1,', '{"q":[1,2', '{"q":[1,2]}')).call.input).toEqual({ q: [1, 2] })
})

test('arguments in pieces are never mistaken for re-sends, no matter how they are cut (qC17, G2)', async () => {
  await fc.assert(
    fc.asyncProperty(inputs, places, async (input, where) => {
      const text = JSON.stringify(input)
      const { call, shown } = await callOf(...pieces(text, cutsOf(text, where)))
      expect(call.input).toEqual(JSON.parse(text))
      expect(shown).toBe(text)
    }),
    propertyRuns({ small: 200, middle: 320, whole: 20_000 }),
  )
})

test('arguments that are sent again at a brace and then anywhere are recognized (qC17)', async () => {
  await fc.assert(
    fc.asyncProperty(inputs, places, async (input, where) => {
      const text = JSON.stringify(input)
      const sent = [...new Set([1, ...cutsOf(text, where), text.length])].map((end) => text.slice(0, end))
      expect((await callOf(...sent)).call.input).toEqual(JSON.parse(text))
    }),
    propertyRuns({ small: 200, middle: 320, whole: 20_000 }),
  )
})
