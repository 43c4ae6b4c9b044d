import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  type AgentOptions,
  agentTool,
  ConfigError,
  createAgent,
  interrupt,
  type Middleware,
  map,
  memoryStore,
  type Progress,
  type Tool,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'

function giving(output: unknown, more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'give',
    description: 'Gives something',
    input: z.object({}),
    execute: () => output,
    ...more,
  }) as Tool
}

/** One call of this tool, and its result. */
async function ran(give: Tool, more: Partial<AgentOptions> = {}) {
  const model = scriptedModel([respond(call('give', {}, { id: 'g' })), respond(say('Done'))])
  const { events, result, error } = await collect(createAgent({ model, tools: [give], ...more }).stream('Go'))
  if (!result) throw error
  const message = result.messages.find((message): message is ToolMessage => message.role === 'tool')
  if (!message) throw new Error('there is no result')
  return { message, text: textOf(message), result, events, asked: model.requests }
}

const notShown = (characters: number, limit: number) =>
  `The tool ran and finished; its result of ${characters} characters is not shown (limit ${limit}).`

test('by default a result may have 4 Mi characters: beyond that the model reads that the call ran, and how large the result is (P10)', async () => {
  const most = 4 * 1024 * 1024
  expect((await ran(giving('x'.repeat(most)))).text).toHaveLength(most)
  let executed = 0
  const store = memoryStore()
  const large = giving('', {
    execute() {
      executed++
      return 'x'.repeat(50_000_000)
    },
  })
  const { message, text, result, events, asked } = await ran(large, { checkpoints: store })
  expect(text).toBe(notShown(50_000_000, most))
  expect(message).toEqual({ role: 'tool', callId: 'g', name: 'give', content: [{ type: 'text', text }], isError: true })
  expect(executed).toBe(1)
  expect(result).toMatchObject({ status: 'completed', text: 'Done', warnings: [] })
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'g', message }])
  expect(asked[1]?.messages.at(-1)).toEqual(message)
  const id = events[0]?.runId ?? ''
  expect(JSON.stringify(await store.load(id)).length).toBeLessThan(10_000)
})

test.for<readonly [string, unknown, number]>([
  ['a text', 'x'.repeat(31), 31],
  ['JSON', Array.from({ length: 11 }, () => 10), 34],
  ['JSON with escapes', { text: '\n'.repeat(20) }, 51],
])('%s over the limit is not shown, and within it is (P10)', async ([, output, characters]) => {
  const { text } = await ran(giving(output), { outputLimits: { characters: characters - 1 } })
  expect(text).toBe(notShown(characters, characters - 1))
  const { message } = await ran(giving(output), { outputLimits: { characters } })
  expect(message).toEqual({ ...message, output, content: [{ type: 'text', text: expect.any(String) }] })
  expect(textOf(message)).toHaveLength(characters)
})

const shorter = (length: number): Middleware => ({
  name: 'shorter',
  async *wrapToolCall(one, next) {
    const message = yield* next(one)
    return { ...message, content: [{ type: 'text', text: 'y'.repeat(length) }] }
  },
})

test('the limit applies after toContent and all wraps (P10)', async () => {
  const limits = { outputLimits: { characters: 20 } }
  const { message } = await ran(giving('x'.repeat(100)), { ...limits, middleware: [shorter(20)] })
  // Data that the model does not read is bounded as well.
  expect(message).toEqual({
    role: 'tool',
    callId: 'g',
    name: 'give',
    content: [{ type: 'text', text: 'y'.repeat(20) }],
  })
  expect((await ran(giving('x'), { ...limits, middleware: [shorter(21)] })).text).toBe(notShown(21, 20))
  const readable = (text: string) => ({ toContent: () => [{ type: 'text' as const, text }] })
  expect((await ran(giving('x'.repeat(100), readable('short')), limits)).text).toBe('short')
  expect((await ran(giving('x', readable('z'.repeat(21))), limits)).text).toBe(notShown(21, 20))
  const file = { toContent: () => [{ type: 'file' as const, mediaType: 'image/png', data: 'A'.repeat(24) }] }
  expect((await ran(giving('x', file), limits)).text).toBe(notShown(24, 20))
})

test('JSON that a wrap makes shorter may be larger than the limit (P10)', async () => {
  const list = Array.from({ length: 100_000 }, (_, n) => n)
  const seen: number[] = []
  const middleware: Middleware = {
    name: 'shorter',
    async *wrapToolCall(one, next) {
      const message = yield* next(one)
      seen.push(textOf(message).length)
      return { ...message, content: [{ type: 'text', text: 'a list' }] }
    },
  }
  const { text, message } = await ran(giving(list), { outputLimits: { characters: 20 }, middleware: [middleware] })
  expect(seen).toEqual([JSON.stringify(list).length])
  expect([text, message.output]).toEqual(['a list', undefined])
})

/** A graph with 2 to the power of `levels` paths. */
function graph(levels: number): unknown {
  let node: unknown = 1
  for (let n = 0; n < levels; n++) node = [node, node]
  return node
}

test('JSON that is too large to be written costs no time (P10)', async () => {
  const { text } = await ran(giving(graph(26)))
  expect(text).toBe(notShown(4 * 2 ** 26 - 3, 4 * 1024 * 1024))
  const readable = giving(graph(40), { toContent: () => [{ type: 'text', text: 'a graph' }] })
  expect((await ran(readable)).message).not.toHaveProperty('output')
  const throwing = giving(undefined, {
    execute() {
      throw graph(26)
    },
  })
  expect((await ran(throwing)).text).toBe('unknown error')
  const wrap: Middleware = {
    name: 'rich',
    async *wrapToolCall(one, next) {
      return { ...(yield* next(one)), output: graph(40) }
    },
  }
  expect((await ran(giving('x'), { middleware: [wrap] })).message).not.toHaveProperty('output')
  // Written, it would take two million times as long.
  await expectLinear(7, (levels) => ran(giving(graph(levels))))
})

test('an error over the limit is not shown either (P10)', async () => {
  const failing = giving(undefined, {
    execute() {
      throw new Error('x'.repeat(101))
    },
  })
  const { text } = await ran(failing, { outputLimits: { characters: 100 } })
  expect(text).toBe('The call failed; its error of 101 characters is not shown (limit 100).')
})

test('a call whose result is too large is committed like any other, and is not undone (P10)', async () => {
  const undone: unknown[] = []
  const reversible = giving('x'.repeat(100), {
    effect: 'reversible',
    compensate: (_, output) => void undone.push(output),
  })
  const { text, events } = await ran(reversible, { outputLimits: { characters: 99 }, middleware: [early] })
  expect(text).toBe(notShown(100, 99))
  const fates = events.filter(({ type }) => type === 'tool-committed' || type === 'tool-discarded')
  expect(fates).toMatchObject([{ type: 'tool-committed', callId: 'g' }])
  expect(undone).toEqual([])
})

test('it applies to work in the background, to inner calls, and to answers of unknownTool (P10)', async () => {
  const outputLimits = { characters: 99 }
  const large = 'x'.repeat(100)
  const model = scriptedModel([respond(call('give')), respond(say('So')), respond(say('Done'))])
  const agent = createAgent({ model, tools: [giving(large, { background: true })], outputLimits })
  const { messages } = await agent.run('Go')
  expect(messages.map(textOf).join()).toContain(notShown(100, 99))

  const makes = tool({
    name: 'makes',
    description: 'Makes a call',
    input: z.object({}),
    execute: async (_, { run }) =>
      textOf((await run?.callTool({ type: 'tool-call', id: 'inner', name: 'give', input: {} })) as ToolMessage),
  })
  const outer = scriptedModel([respond(call('makes')), respond(say('Done'))])
  const made = await createAgent({ model: outer, tools: [giving(large), makes as Tool], outputLimits }).run('Go')
  expect(made.messages.map(textOf)).toContain(notShown(100, 99))

  const nobody = scriptedModel([respond(call('nobody')), respond(say('Done'))])
  const answered = await createAgent({ model: nobody, unknownTool: () => large, outputLimits }).run('Go')
  expect(answered.messages.map(textOf)).toContain(notShown(100, 99))
})

test('without a limit a result may have any size (P10)', async () => {
  const characters = 5 * 1024 * 1024
  const outputLimits = { characters: Number.POSITIVE_INFINITY }
  expect((await ran(giving('x'.repeat(characters)), { outputLimits })).text).toHaveLength(characters)
})

const LONG = 'x'.repeat(200)

/** Tells this as progress or as a custom event, in each way in which a tool, a hook or a wrap can. */
function tellers(told: string): readonly (readonly [string, Partial<AgentOptions>])[] {
  const event = { type: 'custom', name: 'told', data: { told } } as const
  const makes = (execute: Tool['execute'], more: Partial<Tool> = {}) => ({
    tools: [{ ...giving(undefined), ...more, execute } as Tool],
  })
  const wraps = (middleware: Omit<Middleware, 'name'>) => ({
    tools: [giving('x')],
    middleware: [{ name: 'teller', ...middleware }],
  })
  const progress = (shown: Progress) =>
    makes(async function* () {
      yield shown
    })
  return [
    ['the message of progress', progress({ message: told })],
    ['the metadata of progress', progress({ metadata: { told } })],
    ['an event of a tool', makes((_, { run }) => run?.emit(event))],
    ['an event of a tool in the background', makes((_, { run }) => run?.emit(event), { background: true })],
    ['an event of a hook', wraps({ beforeModel: (_, run) => run.emit(event) })],
    [
      'an event of a wrapModel',
      wraps({
        async *wrapModel(request, next) {
          yield event
          return yield* next(request)
        },
      }),
    ],
    [
      'an event of a wrapToolCall',
      wraps({
        async *wrapToolCall(one, next) {
          yield event
          return yield* next(one)
        },
      }),
    ],
    [
      'an event of a wrapAgent',
      wraps({
        async *wrapAgent(setup, next, run) {
          run.emit(event)
          return yield* map(next(setup), (one) => one)
        },
      }),
    ],
  ]
}

const isTold = (event: AgentEvent) => event.type === 'custom' || event.type === 'tool-progress'

test.for(tellers(LONG).map(([name]) => name))(
  '%s over the limit is left out, with one warning, and within it is shown; also in an agent inside (W45)',
  async (name) => {
    const running = (told: string, characters: number, isInside: boolean) => {
      const [, options] = tellers(told).find((one) => one[0] === name) ?? []
      const outputLimits = { characters }
      const twice = [respond(call('give')), respond(call('give')), respond(say('Done'))]
      const agent = createAgent({
        name: 'inner',
        description: 'Works',
        model: scriptedModel(twice),
        ...options,
        ...(!isInside && { outputLimits }),
      })
      const outer = () => {
        const model = scriptedModel([respond(call('inner', { request: 'Go' })), respond(say('Done'))])
        return createAgent({ model, tools: [agentTool(agent) as Tool], outputLimits })
      }
      return collect((isInside ? outer() : agent).stream('Go'))
    }
    for (const isInside of [false, true]) {
      const { events } = await running(LONG, 199, isInside)
      expect(events.filter(isTold)).toEqual([])
      const warnings = events.flatMap((event) => (event.type === 'warning' ? [[event.code, event.message]] : []))
      expect(warnings).toEqual([
        [
          'events-left-out',
          expect.stringMatching(/^events of (give|teller) longer than 199 characters were left out$/),
        ],
      ])
      expect((await running(LONG, 300, isInside)).events.filter(isTold).length).toBeGreaterThan(0)
    }
  },
)

test('events over the limit have one warning even if a middleware changes it (W45)', async () => {
  const often = giving(undefined, {
    execute: (_, { run }) => {
      for (let n = 0; n < 5; n++) run?.emit({ name: 'told', data: LONG })
    },
  })
  const changing: Middleware = { name: 'changing', onWarning: (one) => ({ ...one, message: 'changed' }) }
  const { result } = await ran(often, { outputLimits: { characters: 99 }, middleware: [changing] })
  expect(result.warnings.map(({ message }) => message)).toEqual(['changed'])
})

test('what was decided about a call is shown with its input, which has its own limit; data that JSON cannot hold is left out (W45)', async () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const hostile = {
    get text() {
      throw new Error('no')
    },
  }
  const deciding: Middleware = {
    name: 'approve',
    beforeModel(_, run) {
      run.emit({ name: 'approval', data: LONG })
      for (const data of [circle, hostile, undefined, new AbortController().signal]) run.emit({ name: 'own', data })
    },
  }
  const model = scriptedModel([respond(say('Done'))])
  const agent = createAgent({ model, middleware: [deciding], outputLimits: { characters: 9 } })
  const { events, result } = await collect(agent.stream('Go'))
  expect(events.flatMap((event) => (event.type === 'custom' ? [event.data] : []))).toEqual([
    LONG,
    undefined,
    expect.any(AbortSignal),
  ])
  expect(result?.warnings).toHaveLength(1)
})

test('an event that only has the name of a decision obeys the limit; progress is as long as its message (W45)', async () => {
  const give = giving(undefined, {
    async *execute(_, { run }): AsyncGenerator<Progress> {
      run?.emit({ name: 'approval', data: LONG })
      yield { message: '123456789', progress: 0.5 }
      yield { message: '1234567890', progress: 0.6 }
    },
  })
  const { events } = await ran(give, { outputLimits: { characters: 9 } })
  expect(events.flatMap((event) => (event.type === 'tool-progress' ? [event.message] : []))).toEqual(['123456789'])
  expect(events.filter(({ type }) => type === 'custom')).toEqual([])
})

/** Asks a question of this length in each place that may ask. */
function askers(length: number): readonly (readonly [string, Partial<AgentOptions>])[] {
  const ask = () => interrupt('x'.repeat(length))
  const wraps = (middleware: Omit<Middleware, 'name'>) => ({
    tools: [giving('x')],
    middleware: [{ name: 'asker', ...middleware }],
  })
  return [
    ['a tool', { tools: [giving(undefined, { execute: ask })] }],
    ['a hook before the run', wraps({ beforeAgent: ask })],
    ['a hook', wraps({ beforeModel: ask })],
    ['a wrapModel', wraps({ wrapModel: ask })],
    ['a wrapToolCall', wraps({ wrapToolCall: ask })],
    ['a wrapAgent', wraps({ wrapAgent: ask })],
  ]
}

test.for(askers(0).map(([name]) => name))(
  'a question of %s over the limit throws where it is asked (W45)',
  async (name) => {
    const asked = async (length: number, more: Partial<AgentOptions> = {}) => {
      const [, options] = askers(length).find((one) => one[0] === name) ?? []
      const model = scriptedModel([respond(call('give')), respond(say('Done'))])
      return createAgent({ name: 'inner', description: 'Works', model, ...options, ...more })
    }
    const outputLimits = { characters: 299 }
    // Twice as much as the input of the call, {}, is allowed besides, or null without a call.
    const run = (await asked(310, { outputLimits })).run('Go')
    await expect(run).rejects.toThrow(new ConfigError('interrupt', 'payload is longer than 299 characters'))
    expect((await (await asked(299, { outputLimits })).run('Go')).status).toBe('interrupted')
    const model = scriptedModel([respond(call('inner', { request: 'Go' })), respond(say('Done'))])
    const outer = createAgent({ model, tools: [agentTool(await asked(310)) as Tool], outputLimits })
    const { messages } = await outer.run('Go')
    expect(messages.map(textOf)).toContainEqual(
      expect.stringMatching(/^inner failed: interrupt: payload is longer than 299 /),
    )
  },
)

test('a question may show the input of its call in addition, which has its own limit, and an agent around it does not count it again (W45)', async () => {
  const client: Tool = { name: 'edit', description: 'Edits', input: z.object({ text: z.string() }) }
  const outputLimits = { characters: 150 }
  const inner = createAgent({
    name: 'inner',
    description: 'Edits',
    model: scriptedModel([respond(call('edit', { text: 'x'.repeat(10_000) }))]),
    tools: [client],
  })
  const model = scriptedModel([respond(call('inner', { request: 'Go' }))])
  const result = await createAgent({ model, tools: [agentTool(inner) as Tool], outputLimits }).run('Go')
  expect(result.interrupts).toMatchObject([{ payload: { name: 'edit', input: { text: 'x'.repeat(10_000) } } }])
})

async function* counted() {
  yield 1
}

class Empty {
  readonly #secret = 1
  read() {
    return this.#secret
  }
}

const BYTES = 'a Uint8Array, which is not JSON; return its base64'

const noData: readonly (readonly [string, () => unknown, string])[] = [
  [
    'a Response',
    () => new Response('text'),
    'a Response, which is not JSON; return its content, such as await response.text()',
  ],
  ['a Map', () => new Map([['a', 1]]), 'a Map, which is not JSON; return Object.fromEntries(map)'],
  ['a Set', () => new Set([1]), 'a Set, which is not JSON; return [...set]'],
  ['an Error', () => new TypeError('no'), 'an Error, which is not JSON; throw it, or return its message'],
  [
    'an Error with members',
    () => Object.assign(new Error('no'), { code: 7 }),
    'an Error, which is not JSON; throw it, or return its message',
  ],
  ['a generator', () => [1].values(), 'an iterable, which is not JSON; return a list, such as [...it]'],
  ['bytes', () => new Uint8Array(3), BYTES],
  ['a buffer', () => Buffer.from('abc'), BYTES],
  ['a buffer in an object', () => ({ file: Buffer.from('abc') }), `something that contains ${BYTES}`],
  ['headers', () => new Headers({ a: 'b' }), 'an iterable, which is not JSON; return a list, such as [...it]'],
  [
    'an async iterable',
    () => ({ [Symbol.asyncIterator]: counted }),
    'an async iterable, which is not JSON; return a list of its values',
  ],
  ['a stream', () => new Response('text').body, 'an async iterable, which is not JSON; return a list of its values'],
  ['a function', () => () => 1, 'a function, which is not JSON; return its result'],
  ['an object of a class that shows nothing', () => new Empty(), 'an Empty, which is not JSON; return a plain object'],
  [
    'an object without a constructor that shows nothing',
    () => Object.create(Object.create(Object.create(null))),
    'an object without visible members, which is not JSON; return a plain object',
  ],
  [
    'an object of a class without a name',
    () => new (class {})(),
    'an object without visible members, which is not JSON; return a plain object',
  ],
  ['a promise in a list', () => [Promise.resolve(1)], 'something that contains a Promise, which is not JSON; await it'],
  [
    'a promise in an object',
    () => ({ p: Promise.resolve(1) }),
    'something that contains a Promise, which is not JSON; await it',
  ],
  [
    'a Map in an object',
    () => ({ rows: [{ by: new Map([['a', 1]]) }] }),
    'something that contains a Map, which is not JSON; return Object.fromEntries(map)',
  ],
  ['a Set in a list', () => [new Set([1])], 'something that contains a Set, which is not JSON; return [...set]'],
  [
    'what says by toJSON that it is a Map',
    () => ({ toJSON: () => new Map() }),
    'something that contains a Map, which is not JSON; return Object.fromEntries(map)',
  ],
  ['a pattern', () => /a/, 'a RegExp, which is not JSON; return a plain object'],
]

test.for(noData)(
  '%s as output is an error result that explains what to return instead (P10)',
  async ([, make, what]) => {
    let executed = 0
    const execute = () => {
      executed++
      return make()
    }
    const { message, text, result } = await ran(giving(undefined, { execute }))
    expect(text).toBe(`give has run, but returned ${what}, or give the tool a toContent`)
    expect(message).toMatchObject({ isError: true })
    expect([executed, result.text]).toEqual([1, 'Done'])
    const toContent = () => [{ type: 'text' as const, text: 'as it likes' }]
    const shown = await ran(giving(undefined, { execute, toContent }))
    expect(shown.message).toEqual({
      role: 'tool',
      callId: 'g',
      name: 'give',
      content: [{ type: 'text', text: 'as it likes' }],
    })
  },
)

class Money {
  readonly #cents = 150
  toJSON() {
    return `${this.#cents / 100} EUR`
  }
}

class Rows extends Array<number> {}

class Point {
  readonly x = 1
}

test.for<readonly [string, unknown, string]>([
  ['a Date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ['what says itself how it is JSON', new Money(), '"1.5 EUR"'],
  ['an iterable that does', Object.assign(new Map(), { toJSON: () => ['a'] }), '["a"]'],
  ['a list of a class', Rows.from([1, 2]), '[1,2]'],
  ['an object of a class', new Point(), '{"x":1}'],
  ['an object without prototype', Object.create(null), '{}'],
  ['an empty object', {}, '{}'],
])('%s as output stays unchanged (P10)', async ([, output, text]) => {
  const { message } = await ran(giving(output))
  expect(message).toEqual({
    role: 'tool',
    callId: 'g',
    name: 'give',
    content: [{ type: 'text', text }],
    output: JSON.parse(text),
  })
})

test.for<readonly [string, unknown]>([
  ['outputLimits', 1000],
  ['outputLimits.chars', { chars: 1 }],
  ['outputLimits.characters', { characters: -1 }],
  ['outputLimits.characters', { characters: '1' }],
])('%s that is invalid is a ConfigError (A2, P10)', ([option, outputLimits]) => {
  const options = { model: scriptedModel([]), ...JSON.parse(JSON.stringify({ outputLimits })) }
  expect(() => createAgent(options)).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
