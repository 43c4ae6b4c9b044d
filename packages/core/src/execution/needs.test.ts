import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { afterEvents } from '../../test/early-calls.ts'
import {
  ConfigError,
  createAgent,
  type Middleware,
  MiddlewareError,
  runTool,
  type Tool,
  type ToolContext,
  type ToolMessage,
  tool,
} from '../index.ts'

const input = z.object({ path: z.string(), from: z.number().optional() })
const plain = { name: 'read', description: 'Reads.', input, execute: () => 'text' }

test.each<[string, Partial<Tool>, RegExp]>([
  ['needs and no effect', { needs: ['path'] }, /read has needs, but not the effect read or calls/],
  ['warm and no effect', { warm: () => 1 }, /read has warm, but not the effect read or calls/],
  ['needs, idempotent', { needs: ['path'], effect: 'idempotent' }, /needs/],
  ['warm, external', { warm: () => 1, effect: 'external' }, /warm/],
  ['needs, computed', { needs: ['path'], effect: () => 'read' }, /needs/],
  ['no member and no effect', { needs: [] }, /read has needs, but not the effect read or calls/],
  ['no member, idempotent', { needs: [], effect: 'idempotent' }, /read has needs, but not the effect read or calls/],
  ['no member, external', { needs: [], effect: 'external' }, /read has needs, but not the effect read or calls/],
  [
    'no member, reversible',
    { needs: [], effect: 'reversible', compensate: () => undefined },
    /read has needs, but not the effect read or calls/,
  ],
  ['no member, computed', { needs: [], effect: () => 'read' }, /read has needs, but not the effect read or calls/],
  ['a hole', { needs: Object.assign([], { length: 1 }), effect: 'read' }, /the needs of read/],
  ['no list', { needs: 'path' as never, effect: 'read' }, /the needs of read/],
  ['no names', { needs: [1] as never, effect: 'read' }, /the needs of read/],
])(
  'needs and warm are for tools declared read or calls, and needs lists members, or none: %s (H33, A2, Q4, Q5)',
  async (_, more, problem) => {
    const read = { ...plain, ...more } as Tool
    const model = scriptedModel([])
    expect(() => createAgent({ model, tools: [read] })).toThrow(problem)
    expect(() => createAgent({ model, tools: [read] })).toThrow(ConfigError)
    const bringing: Middleware = { name: 'bringing', beforeAgent: (setup) => ({ ...setup, tools: [read] }) }
    await expect(createAgent({ model, middleware: [bringing] }).run('Go')).rejects.toThrow(problem)
  },
)

test('a tool definition contains its needs, unless its calls may not start with them (H31)', async () => {
  const read = { ...plain, effect: 'read', needs: ['path'] } as Tool
  const asked = async (middleware: readonly Middleware[], prepareInput?: (input: unknown) => unknown) => {
    const model = scriptedModel([respond(say('Done.'))])
    await createAgent({ model, tools: [read], middleware, ...(prepareInput && { prepareInput }) }).run('Go')
    return model.requests[0]?.tools.map((tool) => tool.needs)
  }
  const wrap = (more: Partial<Middleware> = {}): Middleware => ({
    name: 'wrap',
    wrapToolCall: (call, next) => next(call),
    ...more,
  })
  expect(await asked([])).toEqual([['path']])
  expect(await asked([wrap({ ignoresInput: true })])).toEqual([['path']])
  expect(await asked([wrap()])).toEqual([undefined])
  expect(await asked([], (input) => input)).toEqual([undefined])
})

test('the resource keys of a tool with needs depend on the complete input, so that its calls do not start with a part of it (H14, H31)', async () => {
  const judged: unknown[] = []
  const got: unknown[] = []
  const read = tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    reads(whole) {
      judged.push(whole)
      return [`${whole.path}:${whole.from}`]
    },
    execute: async (needed, { rest }) => void got.push(needed, await rest),
  }) as Tool
  const parted = afterEvents(async (event, run) => {
    if (event.type !== 'tool-input-start') return
    const { id, name } = event
    const whole = { type: 'tool-call', id, name, input: { path: 'a', from: 1 } } as const
    let arrive = (_: typeof whole): void => undefined
    const rest = new Promise<typeof whole>((resolve) => {
      arrive = resolve
    })
    run.callTool({ ...whole, input: { path: 'a' } }, { rest }).catch(() => undefined)
    await sleep(10)
    expect([judged, got]).toEqual([[], []])
    arrive(whole)
  })
  const model = scriptedModel([respond(call('read', { path: 'a', from: 1 }, { id: 'c' })), respond(say('Done.'))])
  await createAgent({ model, tools: [read], middleware: [parted] }).run('Go')
  expect(model.requests[0]?.tools.map(({ needs }) => needs)).toEqual([undefined])
  expect(judged).toEqual([{ path: 'a', from: 1 }])
  expect(got).toEqual([{ path: 'a' }, { path: 'a', from: 1 }])
})

test('nothing starts early by itself: without eager tools a ready call waits for its model call (H1, H31)', async () => {
  const read = tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    execute: async ({ path }, { rest }) => [path, (await rest).from],
  })
  const model = scriptedModel([respond(call('read', { path: 'a', from: 1 }, { id: 'c' })), respond(say('Done.'))])
  const { events } = await collect(createAgent({ model, tools: [read as Tool] }).stream('Go'))
  const types = events.map(({ type }) => type)
  expect(types.indexOf('tool-input-ready')).toBeLessThan(types.indexOf('tool-input-closed'))
  expect(types.indexOf('tool-start')).toBeGreaterThan(types.indexOf('tool-call'))
  expect(events.find((event) => event.type === 'tool-end')?.message.output).toEqual(['a', 1])
})

test('execute of a tool with needs receives these members and the rest; of any other tool the complete input (H31)', () => {
  tool({
    ...plain,
    effect: 'read',
    needs: ['path'],
    warm: async () => 7,
    execute(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ path: string }>()
      expectTypeOf(context.rest).resolves.toEqualTypeOf<{ path: string; from?: number | undefined }>()
      expectTypeOf(context.warmed).toEqualTypeOf<Promise<number | undefined> | undefined>()
    },
  })
  tool({
    ...plain,
    execute(input, context) {
      expectTypeOf(input).toEqualTypeOf<{ path: string; from?: number | undefined }>()
      expectTypeOf(context).not.toHaveProperty('rest')
    },
  })
  // @ts-expect-error There is no such member.
  tool({ ...plain, effect: 'read', needs: ['pth'] })
  expect(tool(plain)).toBe(plain)
})

test('a definition contains an empty list of needs unless calls require their complete input; execute receives no member, and the rest, in every run (Q5)', async () => {
  const given: unknown[] = []
  const look = tool({
    ...plain,
    effect: 'read',
    needs: [],
    async execute(needed, context) {
      expectTypeOf(needed).toEqualTypeOf<Pick<{ path: string; from?: number | undefined }, never>>()
      expectTypeOf(context.rest).resolves.toEqualTypeOf<{ path: string; from?: number | undefined }>()
      given.push(needed, await context.rest)
    },
  })
  const asked = async (
    options: Pick<Parameters<typeof createAgent>[0], 'middleware' | 'prepareInput'> = {},
    more = {},
  ) => {
    const model = scriptedModel([respond(call('read', { path: 'a' })), respond(say('Done.'))])
    await createAgent({ model, tools: [{ ...look, ...more } as Tool], ...options }).run('Go')
    return model.requests[0]?.tools.map((tool) => tool.needs)
  }
  expect(await asked()).toEqual([[]])
  expect(await asked({ middleware: [{ name: 'wrap', wrapToolCall: (call, next) => next(call) }] })).toEqual([undefined])
  expect(await asked({ prepareInput: (input) => input })).toEqual([undefined])
  expect(await asked({}, { reads: () => ['a'] })).toEqual([undefined])
  await runTool(look as Tool, { path: 'a' }).result
  expect(given).toEqual(Array.from({ length: 5 }, () => [{}, { path: 'a' }]).flat())
})

test('a tool with an empty list of needs may work in the background, where it receives its input in the same way (Q5)', async () => {
  const given: unknown[] = []
  const slow = {
    ...plain,
    effect: 'read',
    needs: [],
    background: true,
    execute: async (needed: unknown, { rest }: ToolContext & { readonly rest?: Promise<unknown> }) =>
      void given.push(needed, await rest),
  } as Tool
  const model = scriptedModel([respond(call('read', { path: 'a' })), respond(say('Done.')), respond(say('Done.'))])
  await createAgent({ model, tools: [slow] }).run('Go')
  expect(given).toEqual([{}, { path: 'a' }])
})

const wrapping = (ignoresInput: unknown, name = 'wrap') =>
  ({ name, ignoresInput, wrapToolCall: (call, next) => next(call) }) as Middleware
const needing = [
  { ...plain, effect: 'read', needs: ['path'] },
  { ...plain, name: 'list', effect: 'read', needs: [] },
] as readonly Tool[]

test('ignoresInput may be a function, which is called for each tool with needs, and for no other (Q6)', async () => {
  const about: unknown[] = []
  const wrap = wrapping(function (this: Middleware, tool: Tool) {
    about.push([this.name, tool])
    return tool.name === 'list'
  })
  const model = scriptedModel([respond(say('Done.'))])
  const agent = createAgent({ model, tools: [...needing, { ...plain, name: 'plain' }], middleware: [wrap] })
  const each = needing.map((tool) => ['wrap', tool])
  expect(about.splice(0)).toEqual(each)
  await agent.run('Go')
  expect(about).toEqual(each)
  expect(model.requests[0]?.tools.map(({ name, needs }) => [name, needs])).toEqual([
    ['read', undefined],
    ['list', []],
    ['plain', undefined],
  ])
})

test('with several wraps a call may start with what it needs only if each ignores its input (Q6)', async () => {
  const needs = async (...answers: readonly unknown[]) => {
    const model = scriptedModel([respond(say('Done.'))])
    const middleware = answers.map((answer, index) => wrapping(answer, `wrap ${index}`))
    await createAgent({ model, tools: needing, middleware }).run('Go')
    return model.requests[0]?.tools.flatMap(({ name, needs }) => (needs ? name : []))
  }
  expect(await needs(() => true, true)).toEqual(['read', 'list'])
  expect(
    await needs(
      ({ name }: Tool) => name === 'read',
      ({ name }: Tool) => name === 'list',
    ),
  ).toEqual([])
  expect(await needs(true, ({ name }: Tool) => name === 'read')).toEqual(['read'])
  expect(await needs(() => true, false)).toEqual([])
})

const unsaid: readonly (readonly [what: string, ignoresInput: () => unknown, problem: string])[] = [
  [
    'throws',
    () => {
      throw new TypeError('no such tool')
    },
    'threw for the tool read: no such tool',
  ],
  ['returns nothing', () => undefined, 'must return true or false for the tool read'],
  ['returns a word', () => 'yes', 'must return true or false for the tool read'],
  ['returns a promise', () => Promise.reject(new Error('later')), 'must return true or false for the tool read'],
]

test.each(unsaid)(
  'an ignoresInput that %s is reported by createAgent, or by the run if a tool is added later (Q6, A2)',
  async (_, ignoresInput, problem) => {
    const model = scriptedModel([respond(say('Done.'))])
    const wrap = wrapping(ignoresInput)
    const option = 'middleware.wrap.ignoresInput'
    expect(() => createAgent({ model, tools: needing, middleware: [wrap] })).toThrow(new ConfigError(option, problem))
    const bringing: Middleware = { name: 'bringing', beforeAgent: (setup) => ({ ...setup, tools: needing }) }
    const error = new MiddlewareError('wrap', 'ignoresInput', problem)
    const run = createAgent({ model, middleware: [bringing, wrap] }).run('Go')
    await expect(run).rejects.toThrow(error)
    await expect(run).rejects.toMatchObject({ middleware: 'wrap', hook: 'ignoresInput' })
    expect(model.requests).toEqual([])
    // Without a wrap the function is not called.
    const idle: Middleware = { name: 'idle', ignoresInput: wrap.ignoresInput as () => boolean }
    await expect(createAgent({ model, tools: needing, middleware: [idle] }).run('Go')).resolves.toBeDefined()
  },
)

test('the cause of that MiddlewareError is what the function threw (Q6)', async () => {
  const cause = new TypeError('no such tool')
  const wrap = wrapping(() => {
    throw cause
  })
  const bringing: Middleware = { name: 'bringing', beforeAgent: (setup) => ({ ...setup, tools: needing }) }
  const run = createAgent({ model: scriptedModel([]), middleware: [bringing, wrap] }).run('Go')
  await expect(run).rejects.toMatchObject({ cause })
})

test('an ignoresInput that first throws when a call could start refuses that start, and the call is made with its complete input (Q6)', async () => {
  let asked = 0
  const wrap = wrapping(() => {
    if (++asked === 3) throw new Error('not now')
    return true
  })
  const starts: Promise<ToolMessage>[] = []
  const starting = afterEvents((event, run) => {
    if (event.type !== 'tool-input-ready') return
    const { id, name, input } = event
    const start = run.callTool({ type: 'tool-call', id, name, input }, { rest: new Promise(() => undefined) })
    start.catch(() => undefined)
    starts.push(start)
  })
  const model = scriptedModel([respond(call('list', { path: 'a' }, { id: 'c' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: needing.slice(1), middleware: [wrap, starting] })
  const { events } = await collect(agent.stream('Go'))
  expect(starts).toHaveLength(1)
  await expect(starts[0]).rejects.toThrow(
    new MiddlewareError('wrap', 'ignoresInput', 'threw for the tool list: not now'),
  )
  const ofCalls = events.flatMap((event) => ('callId' in event ? event.type : []))
  expect(ofCalls).toEqual(['tool-start', 'tool-entered', 'tool-end'])
})
