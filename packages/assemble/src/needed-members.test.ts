import { callsOf, DEFAULT_INPUT_LIMITS, type InputLimits, type Json, type ModelEvent } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { assemble } from './assemble.ts'
import type { Assembler, CallPiece } from './assembler.ts'

afterEach(() => void vi.restoreAllMocks())

type Chunk = (to: Assembler) => void

const tool = (name: string, needs?: readonly string[]) => ({
  name,
  description: name,
  inputSchema: {},
  ...(needs && { needs }),
})

/** The events and the message of chunks for a tool `f` that needs these members. */
async function streamed(needs: readonly string[] | undefined, chunks: readonly Chunk[], limits?: Partial<InputLimits>) {
  const request = {
    takenIds: new Set<string>(),
    inputLimits: { ...DEFAULT_INPUT_LIMITS, ...limits },
    tools: [tool('f', needs), tool('g')],
  }
  async function* source() {
    yield* chunks
    yield (to: Assembler) => to.finish('tool-calls')
  }
  const events: ModelEvent[] = []
  const flow = assemble(request, source(), (chunk, to) => chunk(to))
  for (;;) {
    const step = await flow.next()
    if (step.done) return { events, call: callsOf(step.value)[0] }
    events.push(step.value)
  }
}

const piece =
  (what: CallPiece): Chunk =>
  (to) =>
    to.call(0, what)

const called = (...deltas: readonly string[]): Chunk[] => [
  piece({ id: 'a', name: 'f' }),
  ...deltas.map((delta) => piece({ delta })),
]

const readyOf = (events: readonly ModelEvent[]) => events.filter((event) => event.type === 'tool-input-ready')

/** How much of a text had arrived, character by character, when the needed members were reported. */
async function readyAfter(text: string, ...needs: readonly string[]): Promise<string | undefined> {
  const { events } = await streamed(needs, called(...text.split('')))
  const at = events.findIndex((event) => event.type === 'tool-input-ready')
  const before = events.slice(0, at).flatMap((event) => (event.type === 'tool-input-delta' ? [event.delta] : []))
  return at < 0 ? undefined : before.join('')
}

test.each([
  ['a string', '{"p":"a,}"', ',"q":1}'],
  ['an object', '{"p":{"p":[1]}', ' ,"q":1}'],
  ['an array', '{"q":1,"p":[1,{}]', '}'],
  ['a number', '{"p":12,', '"q":1}'],
  ['a number at the end', '{"q":1,"p" : 12 }', ''],
  ['true', '{"p":true,', '"q":1}'],
  ['null', '{"p":null }', ''],
  ['an escaped key', '{"\\u0070":"a"', ',"q":1}'],
  ['a key that is in a nested object, too', '{"q":{"p":1},"p":"a"', '}'],
  ['the real object behind a placeholder', '{} {"p":"a"', '}'],
])(
  'a needed member is complete with its last character, or with the token after a number or literal: %s (H31)',
  async (_, text, rest) => {
    expect(await readyAfter(text + rest, 'p')).toBe(text)
  },
)

test('a call is ready once, with the last of its members, before it closes (B5, H31)', async () => {
  const { events } = await streamed(['p', 'r'], called('{"r":1,"q":', '[],"p":"a"', ',"s":2}'))
  const call = { type: 'tool-call', id: 'a', name: 'f', input: { r: 1, q: [], p: 'a', s: 2 } }
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'a', name: 'f' },
    { type: 'tool-input-delta', id: 'a', delta: '{"r":1,"q":' },
    { type: 'tool-input-delta', id: 'a', delta: '[],"p":"a"' },
    { type: 'tool-input-ready', id: 'a', name: 'f', input: { p: 'a', r: 1 } },
    { type: 'tool-input-delta', id: 'a', delta: ',"s":2}' },
    { type: 'tool-input-closed', call },
    { type: 'tool-call', call },
  ])
})

test.each([
  ['a missing one', '{"q":1,"r":{"p":1}}'],
  ['one that came twice', '{"p":1,"p":1,"r":2}'],
  ['one that came twice in different spellings', '{"p":1,"\\u0070":1,"r":2}'],
  ['another that came twice', '{"q":1,"p":1,"q":1,"r":2}'],
  ['one that is not JSON', '{"p":01,"r":2}'],
  ['a key that is not JSON', '{"p":1,"\\x":1,"r":2}'],
  ['a text that is not an object', '["p",1,"r",2]'],
])('no needed members are reported with %s (H32)', async (_, text) => {
  expect(readyOf((await streamed(['p', 'r'], called(...text.split('')))).events)).toEqual([])
})

test('a member that is repeated after the call was ready appears only in the complete call (H32)', async () => {
  const { events, call } = await streamed(['p'], called('{"p":1,', '"p":2}'))
  expect(readyOf(events)).toEqual([{ type: 'tool-input-ready', id: 'a', name: 'f', input: { p: 1 } }])
  expect(call?.input).toEqual({ p: 2 })
})

test('__proto__ can be needed and changes no prototype (G14, H31)', async () => {
  const [ready] = readyOf((await streamed(['__proto__'], called('{"__proto__":{"admin":true},"q":1}'))).events)
  expect(Object.keys(Object(ready?.input))).toEqual(['__proto__'])
  expect(Object.getPrototypeOf(ready?.input)).toBe(Object.prototype)
})

test('a call whose arguments came before its name, or were sent again from the start, is ready at most once (G8, H31)', async () => {
  const late = await streamed(['p'], [piece({ delta: '{"p":1,' }), piece({ name: 'f' }), piece({ delta: '"q":2}' })])
  expect(late.events.map(({ type }) => type)).toEqual([
    'tool-input-start',
    'tool-input-delta',
    'tool-input-delta',
    'tool-input-closed',
    'tool-call',
  ])
  const resent = await streamed(['p'], called('{"p":"a"', '{"p":"a","q"', '{"p":"a","q":2}'))
  expect(readyOf(resent.events)).toHaveLength(1)
  expect(resent.call?.input).toEqual({ p: 'a', q: 2 })
})

test.each(['', ' ', '{', '{}', '{} {'])(
  'a call whose name is final only after %j of its arguments is ready like any other (P2, H31)',
  async (before) => {
    const after = before.endsWith('{') ? '"p":1,' : '{"p":1,'
    const { events } = await streamed(
      ['p'],
      [
        piece({ id: 'a', name: 'f', nameMayGrow: true, delta: before }),
        piece({ name: 'f', delta: after }),
        piece({ delta: '"q":2}' }),
      ],
    )
    expect(readyOf(events)).toEqual([{ type: 'tool-input-ready', id: 'a', name: 'f', input: { p: 1 } }])
    const grown = await streamed(
      ['p'],
      [piece({ name: 'f', nameMayGrow: true, delta: before }), piece({ name: 'f2', delta: after })],
    )
    expect(readyOf(grown.events)).toEqual([])
  },
)

test('a call that the provider runs, or that may be expanded, is not ready (G16, H5)', async () => {
  const provided = await streamed(
    ['p'],
    [piece({ id: 'a', name: 'f', providerResult: null }), piece({ delta: '{"p":1,"q":2}' })],
  )
  expect(readyOf(provided.events)).toEqual([])
  const expanded = await streamed(
    ['p'],
    [piece({ id: 'a', name: 'f', expand: () => undefined }), piece({ delta: '{"p":1,"q":2}' })],
  )
  expect(readyOf(expanded.events)).toEqual([])
})

test('members that end beyond the limit of characters do not count, wherever the text is cut (G14, G2)', async () => {
  for (const [limit, times] of [
    [8, 1],
    [7, 0],
  ] as const) {
    for (const deltas of [['{"p":"a","q":2}'], '{"p":"a","q":2}'.split('')]) {
      const { events } = await streamed(['p'], called(...deltas), { characters: limit })
      expect(readyOf(events)).toHaveLength(times)
    }
  }
})

test('without needs no members are looked for, and the events stay the same (B5)', async () => {
  const text = '{"p":1,"q":2}'
  const parse = vi.spyOn(JSON, 'parse')
  const { events } = await streamed(undefined, called(...text.split('')))
  expect(parse.mock.calls).toEqual([[text]])
  expect(readyOf(events)).toEqual([])
})

test('besides the whole text, parsed as usual, only keys and needed members are decoded, once each (G13)', async () => {
  const content = 'x'.repeat(1_000)
  const parse = vi.spyOn(JSON, 'parse')
  const text = JSON.stringify({ content, path: 'a', more: content, last: content })
  await streamed(['path'], called(...text.split('')))
  expect(parse.mock.calls.map(([text]) => text)).toEqual(['"content"', '"path"', '"a"', text])
})

/** Objects as models write them: members in any order, some twice, white space and escapes anywhere. */
const written = fc
  .array(fc.tuple(fc.constantFrom('p', 'q', 'r', 's', '__proto__'), fc.jsonValue({ maxDepth: 2 }), fc.boolean()), {
    maxLength: 6,
  })
  .map((members) => {
    const texts = members.map(([key, value, spaced]) => {
      const text = JSON.stringify(value)
      return spaced
        ? ` "\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}" :\n${text} `
        : `"${key}":${text}`
    })
    const keys: string[] = members.map(([key]) => key)
    return { text: `{${texts.join(',')}}`, keys, values: members.map(([, value]) => value as Json) }
  })

/** The text in pieces. */
function cutAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, index) => text.slice(from, places[index])).filter((delta) => delta !== '')
}

test('a call is ready with exactly the first needed members, unless a key came twice by then, wherever the text is cut (H31, H32, G2)', async () => {
  await fc.assert(
    fc.asyncProperty(
      written,
      fc.subarray(['p', 'q', '__proto__'], { minLength: 1 }),
      fc.array(fc.nat()),
      async (object, needs, cuts) => {
        const { keys, values, text } = object
        const last = Math.max(...needs.map((need) => keys.indexOf(need)))
        const sound = needs.every((need) => keys.includes(need)) && new Set(keys.slice(0, last + 1)).size === last + 1
        const { events } = await streamed(needs, called(...cutAt(text, cuts)))
        const input = Object.fromEntries(needs.map((need) => [need, values[keys.indexOf(need)]]))
        expect(readyOf(events).map((event) => JSON.stringify(event.input))).toEqual(
          sound ? [JSON.stringify(input)] : [],
        )
        const types = events.map(({ type }) => type).filter((type) => type !== 'tool-input-delta')
        const closes = text === '{}' ? [] : ['tool-input-closed']
        expect(types).toEqual(['tool-input-start', ...(sound ? ['tool-input-ready'] : []), ...closes, 'tool-call'])
      },
    ),
    propertyRuns({ small: 300, middle: 450, whole: 100_000 }),
  )
})

test('what is found after arguments have become too deep starts nothing (G14, P11)', async () => {
  const limits = { depth: 3 }
  expect(readyOf((await streamed(['p'], called('{"q":[[1]],', '"p":1}'), limits)).events)).toHaveLength(1)
  const { events, call } = await streamed(['p'], called('{"q":[[[1]]],', '"p":1}'), limits)
  expect(readyOf(events)).toEqual([])
  expect(call).toHaveProperty('inputError')
})

const typesOf = (events: readonly ModelEvent[]) => events.map(({ type }) => type.replace('tool-input-', ''))

test('a call of a tool that needs no member is ready when its name is known, whatever its arguments are (Q5)', async () => {
  const ready = { type: 'tool-input-ready', id: 'a', name: 'f', input: {} }
  for (const text of ['{"p":1}', '{"p":1,"p":2}', '{"p":', 'junk', '[1]', '{}'])
    expect((await streamed([], called(...text.split('')))).events.slice(0, 3)).toEqual([
      { type: 'tool-input-start', id: 'a', name: 'f' },
      ready,
      { type: 'tool-input-delta', id: 'a', delta: text[0] },
    ])
  expect(typesOf((await streamed([], called('{"p":1}'))).events)).toEqual([
    'start',
    'ready',
    'delta',
    'closed',
    'tool-call',
  ])
  // A piece that contains everything at once makes no separate event.
  expect(typesOf((await streamed([], [piece({ name: 'f', delta: '{"p":1}' })])).events)).toEqual([
    'start',
    'ready',
    'delta',
    'closed',
    'tool-call',
  ])
})

test('a name that may grow makes no call ready, and its final name does so once (Q5, P2)', async () => {
  const grown = await streamed(
    [],
    [
      piece({ id: 'a', name: 'g', nameMayGrow: true }),
      piece({ name: 'f', nameMayGrow: true }),
      piece({ name: 'f' }),
      piece({ name: 'g' }),
      piece({ name: 'f', delta: '{"p":1}' }),
    ],
  )
  expect(typesOf(grown.events)).toEqual(['start', 'ready', 'delta', 'closed', 'tool-call'])
  expect(grown.call).toMatchObject({ name: 'f', input: { p: 1 } })
  const other = await streamed([], [piece({ name: 'f', nameMayGrow: true }), piece({ name: 'g', delta: '{"p":1}' })])
  expect(typesOf(other.events)).toEqual(['start', 'delta', 'closed', 'tool-call'])
})

test('a call whose name comes after its arguments is ready then, unless it is over: its whole input comes at once (Q5, G8)', async () => {
  const late = [piece({ id: 'a', delta: '{"p":1' }), piece({ name: 'f' }), piece({ delta: '}' })]
  expect(typesOf((await streamed([], late)).events)).toEqual([
    'start',
    'delta',
    'ready',
    'delta',
    'closed',
    'tool-call',
  ])
  const sealed = [piece({ id: 'a', delta: '{"p":1}' }), (to: Assembler) => to.seal(0), piece({ name: 'f' })]
  expect(typesOf((await streamed([], sealed)).events)).toEqual(['start', 'delta', 'closed', 'tool-call'])
  const unnamed = [piece({ id: 'a', name: 'f', nameMayGrow: true })]
  expect(typesOf((await streamed([], unnamed)).events)).toEqual(['start', 'tool-call'])
})

test('a call that the provider runs itself, or that is expanded, is not ready with its name (Q5, G16)', async () => {
  const own = [piece({ id: 'a', name: 'f', providerResult: null }), piece({ delta: '{"p":1}' })]
  expect(readyOf((await streamed([], own)).events)).toEqual([])
  const standing = [
    piece({ id: 'a', name: 'f', expand: () => [{ name: 'f', input: { p: 1 } }] }),
    piece({ delta: '{}' }),
  ]
  expect(typesOf((await streamed([], standing)).events)).toEqual(['start', 'delta', 'tool-call'])
})
