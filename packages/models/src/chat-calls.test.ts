import {
  type AssistantMessage,
  callsOf as callsOfMessage,
  DEFAULT_INPUT_LIMITS,
  type ModelEvent,
  type ToolCall,
} from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { failureOf, read } from '../test/ask.ts'
import { readParsed } from '../test/parsed.ts'
import { chat, chatChunk } from '../test/wires.ts'

type Place = { readonly index?: number; readonly id?: string }
type Piece = Place & { readonly n?: string; readonly a?: string | undefined }

const toolsOf = (names: readonly string[]) =>
  names.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }))

function pieces(...list: Piece[]): object[] {
  return list.map(({ index, id, n, a }) =>
    chatChunk({ tool_calls: [{ index, id, function: { name: n, arguments: a } }] }),
  )
}

/** Each piece in its own chunk, and the end. */
const chunksOf = (...list: Piece[]) => [...pieces(...list), chatChunk({}, 'tool_calls')]

/** The response with these pieces, to a request with these tools. */
async function streamed(tools: readonly string[], ...list: Piece[]) {
  return read(chat, chunksOf(...list), { tools: toolsOf(tools) })
}

async function callsOf(tools: readonly string[], ...list: Piece[]): Promise<[string, unknown][]> {
  return inputsOf((await streamed(tools, ...list)).message)
}

function inputsOf({ content }: AssistantMessage): [string, unknown][] {
  return content
    .filter((part): part is ToolCall => part.type === 'tool-call')
    .map(({ name, input, inputError }) => [name, inputError === undefined ? input : 'invalid'])
}

const typesOf = (events: readonly ModelEvent[]) => events.map(({ type }) => type)

const x = '{"x":1}'
const cut = [
  ['two pieces', ['read', '_file']],
  ['pieces that are not names of tools', ['re', 'ad_', 'fi', 'le']],
  ['pieces, the first of them twice', ['read', 'read', '_file']],
  ['two pieces, and then the whole name again', ['read', '_file', 'read_file']],
  ['pieces that each repeat the name so far', ['re', 'read', 'read_fi', 'read_file']],
] as const
const labels: readonly (readonly [string, Place, Place])[] = [
  ['an index', { index: 0, id: 'a' }, { index: 0 }],
  ['an index and an id', { index: 0, id: 'a' }, { index: 0, id: 'a' }],
  ['an index and no id', { index: 0 }, { index: 0 }],
  ['an id', { id: 'a' }, { id: 'a' }],
  ['an id in the first piece only', { id: 'a' }, {}],
  ['neither index nor id', {}, {}],
]
const ways = cut.flatMap(([how, names]) => labels.map(([label, first, later]) => ({ how, names, label, first, later })))

test.for(ways)(
  'a name comes in $how, with $label (P2, qC47)',
  async ({ names: [begun = '', ...more], first, later }) => {
    for (const a of [undefined, '', ' ', '{}']) {
      const named = [{ ...first, n: begun, ...(a !== undefined && { a }) }, ...more.map((n) => ({ ...later, n }))]
      const tools = ['read', 'read_file', 'write']
      expect(await callsOf(tools, ...named, { ...later, a: '{"x":' }, { ...later, a: '1}' })).toEqual([
        ['read_file', { x: 1 }],
      ])
      // Two calls of one tool, if nothing distinguishes them (qG1).
      if (a === '{}' && Object.keys(later).length === 0) continue
      // The last piece of the name has the first piece of the arguments.
      const joined = [...named.slice(0, -1), { ...named.at(-1), a: '{"x":' }, { ...later, a: '1}' }]
      expect(await callsOf(tools, ...joined)).toEqual([['read_file', { x: 1 }]])
    }
  },
)

test('a repeated name is not a longer one (P2, qC9)', async () => {
  for (const tools of [[], ['read'], ['read', 'readread']]) {
    const again = [
      { index: 0, n: 'read' },
      { index: 0, n: 'read' },
      { index: 0, n: 'read', a: x },
    ]
    expect(await callsOf(tools, ...again)).toEqual([['read', { x: 1 }]])
  }
})

test('the name of a tool is kept if appending the next piece gives no tool’s name (P2)', async () => {
  expect(await callsOf(['read', 'write'], { index: 0, n: 'read' }, { index: 0, n: '_file', a: x })).toEqual([
    ['read', { x: 1 }],
  ])
  // It is not a tool's name, so neither runs.
  expect(await callsOf(['write'], { index: 0, n: 'read' }, { index: 0, n: '_file', a: x })).toEqual([
    ['read_file', { x: 1 }],
  ])
})

// The pieces are not joined again for each one.
test('a name that never ends is read as fast as its pieces arrive (P2)', () =>
  expectLinear(2_000, async (count) => {
    const pieces = Array.from({ length: count }, (_, part): Piece => ({ index: 0, id: 'a', n: `read${part}` }))
    const chunks = chunksOf({ index: 0, id: 'a', n: 'x' }, ...pieces, { index: 0, a: x })
    const { message } = await readParsed(chat, chunks, { tools: toolsOf(['read', 'write']) })
    expect(inputsOf(message)).toEqual([[`x${pieces.map(({ n }) => n).join('')}`, { x: 1 }]])
  }))

test('a name is complete when its arguments have begun (P2)', async () => {
  const tools = ['read', 'read_file']
  const late = await callsOf(tools, { index: 0, id: 'a', n: 'read', a: '{"x"' }, { index: 0, n: '_file', a: ':1}' })
  expect(late).toEqual([['read', { x: 1 }]])
})

test('a name that comes after the arguments may also come in pieces (P2, G8)', async () => {
  const tools = ['read', 'read_file']
  expect(
    await callsOf(tools, { index: 0, id: 'a', n: '', a: x }, { index: 0, n: 'read' }, { index: 0, n: '_file' }),
  ).toEqual([['read_file', { x: 1 }]])
})

test('a call is not reported while its name may be the beginning of another tool’s name (P2)', async () => {
  const named = { index: 0, id: 'a', n: 'read', a: '' }
  const rest = [
    { index: 0, a: '{"x":' },
    { index: 0, a: '1}' },
  ]
  const shown = async (tools: readonly string[], ...list: Piece[]) => {
    const seen: string[][] = []
    const chunks = pieces(...list)
    for (let count = 1; count <= chunks.length; count++) {
      // Only the reported part: a truncated stream may contain more that was not reported yet.
      const { events } = await read(chat, [...chunks.slice(0, count), chatChunk({}, 'length')], {
        tools: toolsOf(tools),
      })
      seen.push(typesOf(events))
    }
    return seen
  }
  const start = 'tool-input-start'
  const delta = 'tool-input-delta'
  expect(await shown(['read', 'read_file'], named, ...rest)).toEqual([
    [],
    [start, delta],
    [start, delta, delta, 'tool-input-closed'],
  ])
  expect((await shown(['read', 'write'], named, ...rest))[0]).toEqual([start])
  // It may be an alias.
  expect((await shown(['write'], named, ...rest))[0]).toEqual([])
})

test('a call without arguments whose name might have become longer is reported at the end of its response (P2)', async () => {
  const { events } = await streamed(['read', 'read_file'], { index: 0, id: 'a', n: 'read', a: '{}' })
  expect(typesOf(events)).toEqual(['tool-input-start', 'tool-input-delta', 'tool-call'])
})

test('names that this request does not declare count as well: hidden tools, and aliases (P2, M9)', async () => {
  const events = [
    ...pieces({ index: 0, id: 'a', n: 'read' }, { index: 0, n: '_file' }, { index: 0, a: x }),
    chatChunk({}, 'tool_calls'),
  ]
  const { message } = await read(chat, events, { tools: toolsOf(['read']), toolNames: new Set(['read', 'read_file']) })
  expect(message.content).toMatchObject([{ name: 'read_file' }])
})

const both: [string, unknown][] = [
  ['f', { x: 1 }],
  ['g', { y: 2 }],
]

test.for(labels.filter(([, { id }]) => id === 'a'))(
  'with %s, another name after complete arguments is another call (P3, qC48)',
  async ([, first, later]) => {
    for (const tools of [[], ['f', 'g'], ['f', 'f_more', 'g']]) {
      for (const [one, ...more] of [[x], ['{"x":', '1}'], ['{"x":1}', ' \n'], ['{}', x]]) {
        const { message } = await streamed(
          tools,
          { ...first, n: 'f', a: one },
          ...more.map((a) => ({ ...later, a })),
          { ...first, n: 'g', a: '{"y":' },
          { ...later, a: '2}' },
        )
        expect(message.content).toMatchObject([
          { id: 'a', name: 'f', input: { x: 1 } },
          { id: 'a_1', name: 'g', input: { y: 2 } },
        ])
      }
    }
  },
)

test('another name after empty arguments, or after a JSON string, is another call as well (P3, qC34)', async () => {
  const second = { index: 0, id: 'a', n: 'g', a: '{"y":2}' }
  expect(await callsOf(['f', 'g'], { index: 0, id: 'a', n: 'f', a: '{}' }, second)).toEqual([['f', {}], both[1]])
  expect(await callsOf(['f', 'g'], { index: 0, id: 'a', n: 'f', a: '' }, second)).toEqual([['f', {}], both[1]])
  const encoded = { index: 0, id: 'a', n: 'f', a: JSON.stringify(x) }
  expect(await callsOf(['f', 'g'], encoded, second)).toEqual([['f', x], both[1]])
})

test('another name in the middle of the arguments does not begin another call (P3, G9)', async () => {
  const calls = await callsOf(
    ['f', 'g'],
    { index: 0, id: 'a', n: 'f', a: '{"x":' },
    { index: 0, id: 'a', n: 'g', a: '1}' },
  )
  expect(calls).toEqual([['f', { x: 1 }]])
})

test('without index and id, a name begins a call if it differs, or if the latest call is complete (P3, qG1)', async () => {
  expect(await callsOf(['f', 'g'], { n: 'f', a: x }, { n: 'g', a: '{"y":2}' })).toEqual(both)
  expect(await callsOf(['f', 'g'], { n: 'f', a: x }, { n: 'f', a: x })).toEqual([both[0], both[0]])
  expect(await callsOf(['f', 'g'], { n: 'f', a: '{"x":' }, { n: 'f', a: '1}' })).toEqual([both[0]])
  expect(await callsOf(['f', 'g'], { id: 'a', n: 'f', a: '{"x":' }, { n: 'g', a: '{"y":2}' })).toEqual([
    ['f', 'invalid'],
    both[1],
  ])
})

const TOOLS = ['li', 'list', 'read', 'read_file', 'read_files', 'search']

const someInput = fc
  .dictionary(fc.constantFrom('a', 'b'), fc.jsonValue({ maxDepth: 1 }), { minKeys: 1 })
  // JSON has no -0.
  .map((input): unknown => JSON.parse(JSON.stringify(input)))
const someCall = fc.record({
  name: fc.constantFrom(...TOOLS, 'unknown'),
  input: someInput,
  cuts: fc.array(fc.nat(), { maxLength: 4 }),
  nameCuts: fc.array(fc.nat(), { maxLength: 3 }),
  /** The arguments in the first piece of the name. */
  before: fc.constantFrom(undefined, '', ' '),
  /** The name is repeated with the arguments. */
  named: fc.boolean(),
  /** The arguments are repeated. */
  again: fc.constantFrom<(text: string) => readonly string[]>(
    () => [],
    (text) => [text],
    (text) => [JSON.stringify(JSON.parse(text), null, 1)],
    (text) => [JSON.stringify(text)],
    (text) => text.split(''),
  ),
})

function cutAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % text.length))].filter((at) => at > 0).sort((a, b) => a - b)
  return [0, ...places].map((from, i) => text.slice(from, places[i]))
}

/** How the calls are distinguished: the members of the first piece of a call, and of its other pieces. */
const manners: readonly ((index: number) => readonly [Place, Place])[] = [
  (index) => [{ index, id: `c${index}` }, { index }],
  (index) => [{ index }, { index }],
  (index) => [{ id: `c${index}` }, { id: `c${index}` }],
  (index) => [{ id: `c${index}` }, {}],
  // Only their names and ends distinguish them.
  () => [{}, {}],
  () => [{ index: 0 }, { index: 0 }],
  () => [
    { index: 0, id: 'c' },
    { index: 0, id: 'c' },
  ],
  () => [{ id: 'c' }, { id: 'c' }],
]

/**
 * Excludes calls that nothing distinguishes from those before them, unless they have another name from their first
 * piece on.
 */
function toldApart<Call extends { readonly name: string }>(calls: readonly Call[]): Call[] {
  let last = 'none'
  return calls.filter(({ name }) => {
    const isOther = !name.startsWith(last)
    if (isOther) last = name
    return isOther
  })
}

test('however names and arguments are cut and repeated, the calls are those that were meant (P2, P3, P21, G9)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(someCall, { minLength: 1, maxLength: 4 }),
      fc.nat(manners.length - 1),
      async (some, how) => {
        const calls = how < 4 ? some : toldApart(some)
        const list = calls.flatMap(({ name, input, cuts, nameCuts, before, named, again }, index): Piece[] => {
          const [first, later] = manners[how]?.(index) ?? [{}, {}]
          const text = JSON.stringify(input)
          const [start, ...rest] = cutAt(name, nameCuts)
          return [
            { ...first, n: start ?? '', a: before },
            ...rest.map((n) => ({ ...later, n })),
            ...cutAt(text, cuts).map((a) => ({ ...later, ...(named && { n: name }), a })),
            // Without index and ids this would be another call of the tool (qG1).
            ...again(text).map((a) => ({ ...later, ...(named && how !== 4 && { n: name }), a })),
          ]
        })
        expect(await callsOf(TOOLS, ...list)).toEqual(calls.map(({ name, input }) => [name, input]))
      },
    ),
    propertyRuns({ small: 8, middle: 12, whole: 50_000 }),
  )
})

test('with its own id a piece continues a name only if it is not a tool’s name (P2, qC49)', async () => {
  const tools = ['read', 'read_file']
  const first = { index: 0, id: 'a', n: 'read', a: '' }
  const rest = { index: 0, id: 'c', a: x }
  expect(await callsOf(tools, first, { index: 0, id: 'b', n: '_file', a: '' }, rest)).toEqual([['read_file', { x: 1 }]])
  expect(
    await callsOf(tools, first, { index: 0, id: 'b', n: 'read_fi' }, { index: 0, id: 'c', n: 'le', a: x }),
  ).toEqual([['read_file', { x: 1 }]])
  // Separate calls, as on hosts where every call has index 0 (qC5).
  expect(await callsOf(tools, first, { index: 0, id: 'b', n: 'read_file', a: x })).toEqual([
    ['read', {}],
    ['read_file', { x: 1 }],
  ])
  expect(await callsOf(['read', 'write'], first, { index: 0, id: 'b', n: '_file', a: x })).toEqual([
    ['read', {}],
    ['_file', { x: 1 }],
  ])
  expect(await callsOf(tools, { ...first, a: '{"y":2}' }, { index: 0, id: 'b', n: '_file', a: x })).toEqual([
    ['read', { y: 2 }],
    ['_file', { x: 1 }],
  ])
})

test('after arguments that are too deep another name is another call (P3, P11, qC48)', async () => {
  const deep = `${'{"a":'.repeat(600)}1${'}'.repeat(600)}`
  const calls = await callsOf(
    ['f', 'g'],
    { index: 0, id: 'a', n: 'f', a: deep },
    { index: 0, id: 'a', n: 'g', a: '{"y":2}' },
  )
  expect(calls).toEqual([['f', 'invalid'], both[1]])
})

test('arguments at an index where no call began are shown at the end, and the call does not close before (qC50)', async () => {
  const { events } = await streamed(
    ['f'],
    { index: 0, id: 'a', n: 'f' },
    { index: 1, a: '{"x":' },
    { index: 2, a: '1}' },
  )
  expect(events.slice(0, 3)).toEqual([
    { type: 'tool-input-start', id: 'a', name: 'f' },
    { type: 'tool-input-delta', id: 'a', delta: x },
    { type: 'tool-input-closed', call: { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } } },
  ])
  const cutOff = await read(chat, [
    ...pieces({ index: 0, id: 'a', n: 'f' }, { index: 1, a: x }),
    chatChunk({}, 'length'),
    ...pieces({ index: 1, id: 'b', n: 'g' }),
  ])
  expect(cutOff.message.content).toMatchObject([{ name: 'f', input: { x: 1 } }, { name: 'g' }])
})

test('the arguments of two calls that began at one index are held back as long as they may be contradicted (qC53)', async () => {
  const begun = [
    { index: 0, id: 'a', n: 'f' },
    { index: 0, id: 'b', n: 'g' },
    { index: 0, a: x },
  ]
  const failure = await failureOf(streamed(['f', 'g'], ...begun, { index: 1, a: '{"y":2}' }))
  expect(failure).toMatchObject({ code: 'invalid_chunk', message: expect.stringContaining('either of two calls') })
  expect(await failureOf(streamed(['f', 'g'], ...begun, { index: 0, a: '{"y":2}' }))).toMatchObject({
    code: 'invalid_chunk',
  })
  const { events } = await streamed(['f', 'g'], ...begun)
  expect(typesOf(events)).toEqual([
    'tool-input-start',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-closed',
    'tool-call',
    'tool-call',
  ])
})

test('arguments that are held back have one limit in bytes for all calls (qC53)', async () => {
  const long = { a: 'y'.repeat(3 * 1024 * 1024) }
  const begun = ['f', 'g', 'h'].map((n) => ({ index: 0, id: n, n }))
  const held = [
    { id: 'g', ...long },
    { id: 'h', ...long },
  ]
  expect(await failureOf(streamed(['f', 'g', 'h'], ...begun, ...held))).toMatchObject({
    code: 'invalid_chunk',
    message: expect.stringContaining('8388608 bytes'),
  })
})

test('a response that was cut off keeps the arguments that were held back, even if they are not JSON (qC22, qC50)', async () => {
  const cutOff = [...pieces({ index: 0, id: 'a', n: 'f' }, { index: 1, a: '{"x":' }), chatChunk({}, 'length')]
  const { message } = await read(chat, cutOff)
  expect(message).toMatchObject({ content: [{ name: 'f', input: '{"x":' }], finishReason: 'length' })
})

test('a call that comes again is one, whatever the limit of its arguments (P3, qC52)', async () => {
  const long = (more: string) => `{"x":"${'y'.repeat(DEFAULT_INPUT_LIMITS.characters)}${more}"}`
  const chunks = pieces(
    { index: 0, id: 'a', n: 'f', a: long('') },
    { index: 1, id: 'a', n: 'f', a: long('') },
    { index: 2, id: 'a', n: 'f', a: long('z') },
  )
  const inputLimits = { ...DEFAULT_INPUT_LIMITS, characters: 2 * DEFAULT_INPUT_LIMITS.characters }
  const { message } = await readParsed(chat, [...chunks, chatChunk({}, 'tool_calls')], { inputLimits })
  expect(callsOfMessage(message).map(({ id }) => id)).toEqual(['a', 'a_1'])
})

test('arguments at another index continue those whose own pieces each repeat all of them (qC17, qC50)', async () => {
  const own = ['{"x"', '{"x":'].map((a) => ({ index: 0, id: 'a', n: 'f', a }))
  expect(await callsOf(['f'], ...own, { index: 1, a: '1}' })).toEqual([['f', { x: 1 }]])
})

test('a call that comes again is shown once, as soon as it is whole (P3, qC52)', async () => {
  const again = { index: 1, id: 'a', n: 'f', a: '{ "x" : 1 }' }
  const { events, message } = await streamed(['f'], { index: 0, id: 'a', n: 'f', a: x }, again, { ...again, index: 2 })
  expect(message.content).toMatchObject([{ id: 'a', name: 'f', input: { x: 1 } }])
  expect(typesOf(events)).toEqual(['tool-input-start', 'tool-input-delta', 'tool-input-closed', 'tool-call'])
})

test('arguments that come again with the id of a whole call are not those of another call at their index (qC51)', async () => {
  const begun = [
    { index: 0, id: 'a', n: 'f', a: x },
    { index: 0, id: 'b', n: 'g', a: '{}' },
  ]
  expect(await callsOf(['f', 'g'], ...begun, { index: 0, id: 'a', a: x })).toEqual([both[0], ['g', {}]])
})

test('a name under a used id and at a new index begins another call, with other arguments or the same (P3)', async () => {
  expect(await callsOf(['f', 'g'], { index: 0, id: 'a', n: 'f', a: x }, { index: 1, id: 'a', n: 'g', a: x })).toEqual([
    both[0],
    ['g', { x: 1 }],
  ])
})

test('pieces with an index each, after the finish reason, belong to no call, and are read as fast as they arrive (qC21, qC50)', () =>
  expectLinear(1_000, async (count) => {
    const late = Array.from({ length: count }, (_, at) => ({ index: at + 1, a: 'y' }))
    const begun = pieces({ index: 0, id: 'a', n: 'f', a: '{"x":"' })
    const failing = readParsed(chat, [...begun, chatChunk({}, 'tool_calls'), ...pieces(...late, { index: 0, a: '"}' })])
    await expect(failing).rejects.toMatchObject({ code: 'invalid_chunk', retryable: true })
  }))

// Neither the indexes nor the calls before are looked at again for each piece.
test.each<[string, (count: number) => Piece[]]>([
  [
    'pieces with an index each',
    (count) => Array.from({ length: count }, (_, at) => ({ index: at + 1, a: at < count - 1 ? 'y' : '"}' })),
  ],
  [
    'calls that come again',
    (count) => Array.from({ length: count }, (_, at) => ({ index: at + 1, id: 'a', n: 'f', a: '{"x":"' })),
  ],
  [
    'calls with one id',
    (count) => Array.from({ length: count }, (_, at) => ({ index: at, id: 'a', n: 'f', a: `{"z":${at}}` })),
  ],
])('%s are read as fast as they arrive (qC50, qC52)', (_, more) =>
  expectLinear(1_000, async (count) => {
    const chunks = chunksOf({ index: 0, id: 'a', n: 'f', a: '{"x":"' }, ...more(count))
    await readParsed(chat, chunks, { tools: toolsOf(['f']) })
  }),
)

test('after a response that was cut off, the whole input of a lost call does not start another one (qC50, qC22)', async () => {
  const cutOff = [...pieces({ index: 0, id: 'a', n: 'f', a: '{' }, { index: 1, a: x }), chatChunk({}, 'length')]
  const { events, message } = await read(chat, cutOff)
  expect(typesOf(events)).not.toContain('tool-input-closed')
  expect(message.finishReason).toBe('length')
})
