import { expectLinear } from '@meanwhile/tests/growth'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { settle } from '../flow/flow.ts'
import {
  type AssistantMessage,
  callsOf,
  type FinishReason,
  type ResponseInfo,
  type ToolCall,
  type Usage,
} from '../vocabulary/message.ts'
import { DEFAULT_INPUT_LIMITS, type InputLimits, type ModelEvent } from '../vocabulary/model.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import { assemble, type Explain } from './assemble.ts'
import type { Assembler, CallPiece, Label, PartOptions } from './assembler.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** A chunk of the tests' wire: a function that writes to the assembler. */
type Chunk = (to: Assembler) => void

interface Options {
  readonly takenIds?: readonly string[]
  readonly limits?: Partial<InputLimits>
  readonly explain?: Explain
}

/** The events of each chunk, last of all those after the last chunk, and the outcome. */
async function stream(
  chunks: readonly Chunk[],
  { takenIds = [], limits = {}, explain }: Options = {},
): Promise<{ events: ModelEvent[]; perChunk: ModelEvent[][]; message?: AssistantMessage; error?: unknown }> {
  const perChunk: ModelEvent[][] = []
  async function* source(): AsyncGenerator<Chunk> {
    for (const chunk of chunks) {
      perChunk.push([])
      yield chunk
    }
    perChunk.push([])
  }
  const request = { takenIds: new Set(takenIds), inputLimits: { ...DEFAULT_INPUT_LIMITS, ...limits } }
  const flow = assemble(request, source(), (chunk, to) => chunk(to), explain)
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return { events: perChunk.flat(), perChunk, message: step.value }
      perChunk.at(-1)?.push(step.value)
    }
  } catch (error) {
    return { events: perChunk.flat(), perChunk, error }
  }
}

function said(delta: string, options?: PartOptions): Chunk {
  return (to) => to.text(delta, options)
}

function thought(delta: string, options?: PartOptions): Chunk {
  return (to) => to.reasoning(delta, options)
}

function piece(label: Label, what: CallPiece): Chunk {
  return (to) => to.call(label, what)
}

/** A call in these pieces, one per chunk, the name before them. */
function called(...deltas: readonly string[]): Chunk[] {
  return [piece(0, { id: 'a', name: 'f' }), ...deltas.map((delta) => piece(0, { delta }))]
}

function sealed(label: Label, text?: string): Chunk {
  return (to) => to.seal(label, text)
}

function used(usage: Usage): Chunk {
  return (to) => to.usage(usage)
}

function named(info: ResponseInfo): Chunk {
  return (to) => to.response(info)
}

function ended(reason: FinishReason = 'tool-calls'): Chunk {
  return (to) => to.finish(reason)
}

function units(text: string): string[] {
  return text.split('')
}

function typesOf(events: readonly ModelEvent[]): string[] {
  return events.map((event) => event.type)
}

async function onlyCall(chunks: readonly Chunk[], options?: Options): Promise<ToolCall | undefined> {
  const { message } = await stream(chunks, options)
  return message && callsOf(message)[0]
}

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

test.each([
  ['{}', '{"x":1}'],
  ['{}{"x":1}'],
  ['{', '}', '{', '"x":1}'],
  [' { } ', ' {"x":1} '],
  ['{}', '{}', '{"x":1}'],
])('a placeholder is replaced by the arguments that follow: %j %j (G5, qC13)', async (...deltas) => {
  const { events, message } = await stream([...called(...deltas), ended()])
  expect(events.filter((event) => event.type === 'tool-input-closed')).toMatchObject([{ call: { input: { x: 1 } } }])
  expect(message && callsOf(message)).toEqual([{ type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }])
})

test.each([[], ['{}'], [''], [' \n'], ['{ ', '}']])('a call of %j has the input {} (G5, qC12)', async (...deltas) => {
  expect(await onlyCall([...called(...deltas), ended()])).toEqual({ type: 'tool-call', id: 'a', name: 'f', input: {} })
})

test('white space and the same text again do not change a closed call (G6)', async () => {
  const { events } = await stream([...called('{"x":1}', ' \n'), sealed(0, '{"x":1} \n'), ended()])
  const calls = events.flatMap((event) => ('call' in event ? [event.call] : []))
  expect(calls).toHaveLength(2)
  expect(calls[1]).toBe(calls[0])
})

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

test.each(['{"path":"/etc/pass', 'code":"uptime"}', 'json\n{"x":1}', '{}junk', '{"x":1}{"x":2}', '"a'])(
  'arguments %j stay text, sealed and with the reason (G7, qA5, qC30, qC32)',
  async (text) => {
    const { events, message } = await stream([...called(...units(text)), ended()])
    const call = message && callsOf(message)[0]
    expect(call?.input).toBe(text)
    expect(call?.inputError).toMatch(/^arguments are not valid JSON: ./)
    expect(events.at(-1)).toEqual({ type: 'tool-call', call })
  },
)

test('the reason is short, however much of the arguments an engine quotes (G7)', async () => {
  vi.spyOn(JSON, 'parse').mockImplementation((text) => {
    throw new SyntaxError(`JSON Parse error: ${text}`)
  })
  const call = await onlyCall([...called('"'.padEnd(10_000, 'secret ')), ended()])
  expect(call?.inputError).toMatch(/^arguments are not valid JSON: JSON Parse error: "secret /)
  expect(call?.inputError?.length).toBeLessThan(300)
})

test('arguments that are not an object keep their value (G7, qC34)', async () => {
  expect(await onlyCall([...called('[1,', '2]'), ended()])).toMatchObject({ input: [1, 2] })
  expect(await onlyCall([...called('"{\\"x\\":1}"'), ended()])).toMatchObject({ input: '{"x":1}' })
  expect(await onlyCall([...called('nu', 'll'), ended()])).toMatchObject({ input: null })
})

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
  expectLinear(3_000, async (count) => {
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

test('without a terminal event nothing more is sealed, and what arrived is partial (G11, qT6, qA7)', async () => {
  const { events, error } = await stream([
    said('so'),
    piece(0, { id: 'a', name: 'f', delta: '{"x":1}' }),
    sealed(0),
    piece(1, { id: 'b', name: 'g', delta: '{"y":2}' }),
    piece(2, { id: 'c', name: 'h', delta: '{"z":' }),
    used({ outputTokens: 5 }),
  ])
  expect(events.filter((event) => event.type === 'tool-call')).toMatchObject([{ call: { id: 'a' } }])
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ code: 'stream_truncated', retryable: true })
  expect(error instanceof ModelError && error.partial).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: 'so' },
      { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool-call', id: 'b', name: 'g', input: { y: 2 } },
      { type: 'tool-call', id: 'c', name: 'h', input: '{"z":', inputError: expect.any(String) },
    ],
    finishReason: 'error',
    usage: { outputTokens: 5 },
  })
})

test('the finish reason error is a model error (A19)', async () => {
  const { events, error } = await stream([said('so'), ...called('{"x":1}'), ended('error')])
  expect(typesOf(events)).not.toContain('tool-call')
  expect(error).toMatchObject({
    name: 'ModelError',
    code: 'finish_reason_error',
    retryable: true,
    partial: { content: [{ text: 'so' }, { input: { x: 1 } }], finishReason: 'error' },
  })
})

test('a thrown error is explained, after the events of its chunk (A19, qT8)', async () => {
  const cause = new Error('502')
  const failing: Chunk = (to) => {
    to.text('so')
    throw cause
  }
  const explain: Explain = () => ({
    message: 'bad gateway',
    code: 'bad_gateway',
    status: 502,
    retryable: true,
    retryAfter: 9,
  })
  const { events, error } = await stream([failing, ended('stop')], { explain })
  expect(events).toEqual([{ type: 'text-delta', delta: 'so' }])
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({
    message: 'bad gateway',
    code: 'bad_gateway',
    status: 502,
    retryable: true,
    retryAfter: 9,
    partial: { content: [{ type: 'text', text: 'so' }], finishReason: 'error' },
  })
  expect(error).toHaveProperty('cause', cause)
})

test('an error without an explanation is thrown unchanged (A19)', async () => {
  const thrown = new Error('a bug')
  const failing: Chunk = () => {
    throw thrown
  }
  expect((await stream([failing])).error).toBe(thrown)
  expect((await stream([failing], { explain: () => undefined })).error).toBe(thrown)
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

test('a text is parsed once, and once more if it continued after it had closed (G13)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const counts: number[] = []
  const text = JSON.stringify({ text: 'x'.repeat(1_000), list: [{}, {}, []] })
  for (const deltas of [
    units(text),
    [...units(text), ' ', '\n'],
    [...units(text), 'j', 'u', 'n', 'k'],
    units(text.slice(0, -1)),
    [' '],
    ['{}', ...units(text)],
    [...units(text), ...units(` ${text}`)],
  ]) {
    parse.mockClear()
    await stream([...called(...deltas), sealed(0), sealed(0), ended()])
    counts.push(parse.mock.calls.length)
  }
  expect(counts).toEqual([1, 1, 2, 1, 0, 1, 2])
})

test('of duplicate keys the last one counts, and __proto__ is a key like others (G14)', async () => {
  const call = await onlyCall([...called('{"a":1,"a":2,', '"__proto__":{"admin":true}}'), ended()])
  expect(call?.input).toEqual(JSON.parse('{"a":2,"__proto__":{"admin":true}}'))
  expect(Object.hasOwn(Object(call?.input), '__proto__')).toBe(true)
  expect(Object.getPrototypeOf(call?.input)).toBe(Object.prototype)
  expect('admin' in {}).toBe(false)
})

test('arguments longer than the limit are neither kept nor parsed (G14)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const limits = { characters: 10 }
  const { events, message } = await stream([...called('{"x":', '12345}', '  '), ended()], { limits })
  const call = {
    type: 'tool-call',
    id: 'a',
    name: 'f',
    input: '',
    inputError: 'arguments are longer than 10 characters',
  }
  expect(message?.content).toEqual([call])
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'a', name: 'f' },
    { type: 'tool-input-delta', id: 'a', delta: '{"x":' },
    { type: 'tool-call', call },
  ])
  expect(await onlyCall([...called(), sealed(0, '{"x":12345}'), ended()], { limits })).toEqual(call)
  expect(parse).not.toHaveBeenCalled()
})

test('the limit applies to the text that counts, and may be reached (G14)', async () => {
  const limits = { characters: 10 }
  expect(await onlyCall([...called('{"x":', '1234}'), ended()], { limits })).toMatchObject({ input: { x: 1234 } })
  for (const deltas of [['{"x":1234}'], ['{"x":', '1234567']]) {
    const call = await onlyCall([...called(...deltas), sealed(0, '{"x":5678}'), ended()], { limits })
    expect(call).toEqual({ type: 'tool-call', id: 'a', name: 'f', input: { x: 5678 } })
  }
})

test('arguments nested deeper than the limit are not parsed (G14)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const limits = { depth: 2 }
  for (const text of ['{"x":[{}]}', '[[[]]]']) {
    const { events, message } = await stream([...called(...units(text)), ended()], { limits })
    expect(typesOf(events)).not.toContain('tool-input-closed')
    expect(message?.content).toMatchObject([{ input: text, inputError: 'arguments are nested deeper than 2 levels' }])
  }
  expect(parse).not.toHaveBeenCalled()
  expect(await onlyCall([...called('{"x":[1]}'), ended()], { limits })).toMatchObject({ input: { x: [1] } })
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

test('chunks are read when events are, and closed when the reader leaves or reading fails', async () => {
  const log: string[] = []
  async function* source(): AsyncGenerator<Chunk> {
    try {
      for (const delta of ['a', 'b']) {
        log.push(delta)
        yield said(delta)
      }
      yield () => {
        throw new Error('unreadable')
      }
    } finally {
      log.push('closed')
    }
  }
  const request = { takenIds: new Set<string>(), inputLimits: DEFAULT_INPUT_LIMITS }
  const left = assemble(request, source(), (chunk, to) => chunk(to))
  expect(log).toEqual([])
  for await (const event of left) {
    expect(event).toEqual({ type: 'text-delta', delta: 'a' })
    break
  }
  expect(log.splice(0)).toEqual(['a', 'closed'])

  const failed = assemble(request, source(), (chunk, to) => chunk(to))
  await expect(settle(failed)).rejects.toThrow('unreadable')
  expect(log).toEqual(['a', 'b', 'closed'])
})

const someObject = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { minKeys: 1 })

const someArguments = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(someObject, fc.constantFrom(0, 2, '\t'))
      .map(([value, space]) => JSON.stringify(value, null, space)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '{}',
      '{ }',
      '[]',
      '"{}"',
      '1',
      'null',
      '{"a":"\ud83c\udf0d"}',
      '{"a":"\ud83c"}',
    ),
  },
  { weight: 2, arbitrary: someObject.map((value) => `{}${JSON.stringify(value)}`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}\n`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}</s`) },
  { weight: 1, arbitrary: someObject.map((value) => `${JSON.stringify(value)}${JSON.stringify(value, null, 2)}`) },
  {
    weight: 1,
    arbitrary: someObject.map((value) => [value, JSON.stringify(value)].map((one) => JSON.stringify(one)).join('')),
  },
  { weight: 1, arbitrary: someObject.map((value) => JSON.stringify(value).slice(0, -1)) },
)

const someCall = fc.record({
  id: fc.constantFrom(undefined, '', 'a', 'b', 'call_1'),
  name: fc.constantFrom('f', 'get', 'get_all', ''),
  text: someArguments,
  cuts: fc.array(fc.nat(), { maxLength: 6 }),
  nameCuts: fc.array(fc.nat(), { maxLength: 2 }),
})

/** The beginning of a call, its name as it grows; the last piece has the complete name. */
function begun(label: Label, id: string | undefined, name: string, cuts: readonly number[]): Chunk[] {
  const starts = slices(name, cuts).map((_, i, all) => all.slice(0, i + 1).join(''))
  return [
    piece(label, { id }),
    ...starts.slice(0, -1).map((start) => piece(label, { name: start, nameMayGrow: true })),
    piece(label, { name }),
  ]
}

test('for every chunking of every call list the calls of events and message are the same objects (G1)', async () => {
  const calls = fc.array(someCall, { minLength: 1, maxLength: 5 })
  const evidence = fc.constantFrom('end', 'seal', 'text')
  await fc.assert(
    fc.asyncProperty(calls, evidence, fc.infiniteStream(fc.nat()), async (calls, evidence, choices) => {
      const lanes = calls.map(({ id, name, nameCuts, text, cuts }, label) => [
        ...begun(label, id, name, nameCuts),
        ...slices(text, cuts).map((delta) => piece(label, { delta })),
      ])
      // The text of a seal equals the deltas, so it changes nothing.
      const seals = calls.map(({ text }, label) => sealed(label, evidence === 'text' ? text : undefined))
      const { events, message } = await stream([
        // In call order at first.
        ...lanes.flatMap((lane) => lane.splice(0, 1)),
        ...interleaved(lanes, choices),
        ...(evidence === 'end' ? [] : seals),
        ended(),
      ])

      const inEvents = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []))
      const inMessage = message ? callsOf(message) : []
      expect(inMessage).toHaveLength(calls.length)
      expect(new Set(inMessage.map((call) => call.id)).size).toBe(calls.length)
      // A call without a name is sealed at the end, whatever the provider stated before.
      const inOrder = evidence === 'end' ? inMessage : inMessage.toSorted((a, b) => Number(!a.name) - Number(!b.name))
      expect(inEvents.map((call, i) => call === inOrder[i])).toEqual(calls.map(() => true))
    }),
  )
})

test('events and message do not depend on where chunks and deltas are cut (G2)', async () => {
  const somePart = fc.oneof(
    fc.record({
      say: fc.constantFrom(said, thought),
      text: fc.string({ unit: 'grapheme', minLength: 1 }),
      cuts: fc.array(fc.nat(), { maxLength: 6 }),
    }),
    someCall,
  )
  await fc.assert(
    fc.asyncProperty(fc.array(somePart, { maxLength: 6 }), fc.constantFrom(1, 2, 5), async (parts, perChunk) => {
      const inPieces = (cut: boolean): Chunk[] =>
        parts.flatMap((part, label) => {
          const deltas = slices(part.text, cut ? part.cuts : [])
          if ('say' in part) return deltas.map((delta) => part.say(delta))
          const { id, name, nameCuts } = part
          return [
            ...begun(label, id, name, cut ? nameCuts : []),
            ...deltas.map((delta) => piece(label, { delta })),
            sealed(label),
          ]
        })
      const whole = await stream([...inPieces(false), ended()])
      const cut = await stream(grouped([...inPieces(true), ended()], perChunk))
      expect(withoutCuts(cut.events)).toEqual(withoutCuts(whole.events))
      expect(cut.message).toEqual(whole.message)
    }),
  )
})

function slices(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  return at.slice(1).map((end, i) => text.slice(at[i], end))
}

function* interleaved(lanes: readonly Chunk[][], choices: Iterator<number>): Generator<Chunk> {
  for (;;) {
    const open = lanes.filter((lane) => lane.length > 0)
    const chunk = open[(choices.next().value ?? 0) % open.length]?.shift()
    if (!chunk) return
    yield chunk
  }
}

function grouped(chunks: readonly Chunk[], size: number): Chunk[] {
  const groups = Array.from({ length: Math.ceil(chunks.length / size) }, (_, i) =>
    chunks.slice(i * size, (i + 1) * size),
  )
  return groups.map((group) => (to) => {
    for (const chunk of group) chunk(to)
  })
}

/** The events except deltas, and the joined deltas of each call, of text and of reasoning. */
function withoutCuts(events: readonly ModelEvent[]): unknown[] {
  const whole = new Map<string, string>()
  for (const event of events) {
    if (!('delta' in event)) continue
    const of = 'id' in event ? event.id : event.type
    whole.set(of, (whole.get(of) ?? '') + event.delta)
  }
  return [...events.filter((event) => !('delta' in event)), ...whole]
}
