import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import {
  ConfigError,
  ContextError,
  contextOf,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Run,
  RunAbortedError,
  runTool,
  type Tool,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const SECRET = 'hunter2-of-acme'
const input = z.object({})

const contextIn = (given: object): unknown => ('context' in given ? given.context : undefined)

/** Returns its part of the context. */
function teller(name: string, context: StandardSchemaV1): Tool {
  return tool({
    name,
    description: name,
    input,
    effect: 'read',
    context,
    execute: (_, given) => contextIn(given),
  }) as Tool
}

/** Counts its checks. */
function counted<Part>(
  validate: (value: unknown) => StandardSchemaV1.Result<Part> | Promise<StandardSchemaV1.Result<Part>>,
) {
  const schema = { checks: 0, '~standard': { version: 1 as const, vendor: 'test', validate: check } }
  function check(value: unknown) {
    schema.checks++
    return validate(value)
  }
  return schema
}

const part = (value: unknown) => ({ value })

/** Makes these calls at once, then answers. */
const calling = (...names: readonly string[]) =>
  scriptedModel([respond(...names.map((name) => call(name))), respond(say('Done.'))])

const outputsOf = (messages: readonly { readonly role: string; readonly output?: unknown }[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

/** Everything that an error shows. */
const textOf = (error: unknown) => `${error instanceof Error ? error : ''} ${JSON.stringify(error)}`

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await settled(
    work.then(
      () => undefined,
      (error: unknown) => error,
    ),
  )
}

test.each([[[]], [[early]]])(
  'each tool receives its own part of the context, as its schema returns it, early or not (H9) %#',
  async (middleware) => {
    const tenant = z.object({ tenant: z.string().toUpperCase() })
    const limits = z.object({ limit: z.number().default(10) })
    const plain = tool({
      name: 'plain',
      description: 'p',
      input,
      effect: 'read',
      execute: (_, context) => Object.keys(context),
    })
    const agent = createAgent({
      model: calling('who', 'limit', 'plain'),
      tools: [teller('who', tenant), teller('limit', limits), plain as Tool],
      middleware,
    })
    const { messages } = await settled(agent.run('Go', { context: { tenant: 'acme', db: SECRET } }))
    const [who, limit, keys] = outputsOf(messages)
    expect([who, limit]).toEqual([{ tenant: 'ACME' }, { limit: 10 }])
    expect(keys).not.toContain('context')
  },
)

test('each schema is used once per run, and all calls receive the same value, which is not copied (D1)', async () => {
  const db = { orders: () => 3 }
  const seen: unknown[] = []
  const schema = counted(part)
  const named = (name: string) =>
    tool({
      name,
      description: name,
      input,
      context: schema,
      execute: (_, given) => void seen.push(contextIn(given)),
    }) as Tool
  const model = scriptedModel([respond(call('a'), call('b'), call('a')), respond(call('b')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [named('a'), named('b')] })
  await settled(agent.run('Go', { context: db }))
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === db)).toBe(true)
  expect(schema.checks).toBe(1)
  await settled(agent.run('Go', { context: db })).catch(() => undefined)
  expect(schema.checks).toBe(2)
})

test('one error names everything that needs what the context does not contain, before any hook and any model call (A24)', async () => {
  const ran: string[] = []
  const model = scriptedModel([respond(say('Hi.'))])
  const reader = contextOf(z.object({ user: z.object({ id: z.number() }) }))
  const audit: Middleware = { name: 'audit', context: reader, beforeAgent: () => void ran.push('audit') }
  const tools = [
    teller('orders', z.object({ tenant: z.string(), db: z.custom((db) => db !== undefined, 'no database') })),
    teller('rates', z.object({})),
  ]
  const agent = createAgent({ model, tools, middleware: [audit] })
  const { events, error } = await collect(agent.stream('Go', { context: { tenant: 3, user: { id: SECRET } } }))
  expect(error).toBeInstanceOf(ContextError)
  expect(error).toMatchObject({
    issues: [
      { path: 'tool orders.tenant', message: expect.stringContaining('expected string') },
      { path: 'tool orders.db', message: 'no database' },
      { path: 'middleware audit.user.id', message: expect.stringContaining('expected number') },
    ],
    messages: [{ role: 'user', content: 'Go' }],
  })
  expect(textOf(error)).toMatch(
    /^ContextError: the context of the run does not match: tool orders\.tenant: .+; tool orders\.db: no database; middleware audit/,
  )
  expect(textOf(error)).not.toContain(SECRET)
  expect([events, model.requests, ran]).toEqual([[], [], []])
})

test('a missing context fails only what needs one (A2)', async () => {
  const optional = createAgent({
    model: calling('maybe'),
    tools: [teller('maybe', z.object({ a: z.string() }).optional())],
  })
  expect((await settled(optional.run('Go'))).text).toBe('Done.')
  const needing = createAgent({ model: calling('who'), tools: [teller('who', z.object({ a: z.string() }))] })
  expect(await failureOf(needing.run('Go'))).toMatchObject({ name: 'ContextError', issues: [{ path: 'tool who' }] })
})

const hostile: Record<string, [context: unknown, schema: StandardSchemaV1]> = {
  'a schema throws': [
    {},
    counted(() => {
      throw new Error(SECRET)
    }),
  ],
  'a schema rejects': [{}, counted(() => Promise.reject(new Error(SECRET)))],
  'a getter throws': [
    {
      get tenant(): string {
        throw new Error(SECRET)
      },
    },
    z.object({ tenant: z.string() }),
  ],
  'a proxy throws': [
    new Proxy(
      {},
      {
        get: () => {
          throw new Error(SECRET)
        },
        ownKeys: () => {
          throw new Error(SECRET)
        },
        getPrototypeOf: () => {
          throw new Error(SECRET)
        },
      },
    ),
    z.object({ tenant: z.string() }),
  ],
  'it is a text': [SECRET, z.object({ tenant: z.string() })],
  'it is a list': [[SECRET], z.object({ tenant: z.string() })],
  'it is null': [null, z.object({ tenant: z.string() })],
}

test.each(Object.entries(hostile))(
  'whatever the context is, the run ends with a ContextError that contains nothing of it: %s (A24)',
  async (_, [context, schema]) => {
    const model = scriptedModel([])
    const agent = createAgent({ model, tools: [teller('who', schema)] })
    const error = await failureOf(agent.run('Go', { context }))
    expect(error).toMatchObject({ name: 'ContextError', issues: [{ path: 'tool who' }] })
    expect(textOf(error)).not.toContain(SECRET)
    expect(model.requests).toEqual([])
  },
)

test('a context that nothing needs is not read (D2)', async () => {
  const refuse = () => {
    throw new Error('looked at')
  }
  const context = new Proxy(
    {},
    { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse, getOwnPropertyDescriptor: refuse },
  )
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]) })
  expect((await settled(agent.run('Go', { context }))).text).toBe('Hi.')
})

test('a schema may be asynchronous: the run waits for it, and an abort does not (K1)', async () => {
  const later = counted(
    (value) => new Promise<StandardSchemaV1.Result<unknown>>((resolve) => setTimeout(resolve, 100, { value })),
  )
  const model = calling('who')
  const agent = createAgent({ model, tools: [teller('who', later)] })
  const run = agent.run('Go', { context: 'acme' })
  await vi.advanceTimersByTimeAsync(99)
  expect(model.requests).toHaveLength(0)
  expect(outputsOf((await settled(run)).messages)).toEqual(['acme'])

  const never = createAgent({
    model: scriptedModel([]),
    tools: [
      teller(
        'who',
        counted(() => new Promise(() => undefined)),
      ),
    ],
  })
  const controller = new AbortController()
  const aborted = failureOf(never.run('Go', { context: 'acme', signal: controller.signal }))
  controller.abort()
  expect(await aborted).toBeInstanceOf(RunAbortedError)
})

const asks = (execute: () => unknown) =>
  tool({
    name: 'ask',
    description: 'a',
    input,
    execute: (_, { answers: [answer] }) => {
      if (answer === undefined) throw interrupt('Sure?')
      execute()
      return answer
    },
  }) as Tool

test('a resume receives the context again; without it, it fails before anything runs, and the checkpoint is unchanged (L18)', async () => {
  const ran: string[] = []
  const checkpoints = memoryStore()
  const hook: Middleware = { name: 'hook', beforeAgent: () => void ran.push('hook') }
  const model = scriptedModel([respond(call('ask')), respond(call('who')), respond(say('Done.'))])
  const tools = [asks(() => ran.push('ask')), teller('who', z.object({ tenant: z.string() }))]
  const agent = createAgent({ model, tools, middleware: [hook], checkpoints })
  const first = await settled(agent.run('Go', { context: { tenant: SECRET } }))
  expect(first.status).toBe('interrupted')
  const stored = await checkpoints.load(first.checkpoint?.runId ?? '')
  expect(JSON.stringify([first, stored])).not.toContain(SECRET)
  const answers = { [first.interrupts?.[0]?.id ?? '']: 'yes' }
  ran.length = 0

  for (const from of [first.checkpoint ?? '', first.checkpoint?.runId ?? '']) {
    const { events, error } = await collect(agent.resume(from, answers))
    expect(error).toMatchObject({ name: 'ContextError', issues: [{ path: 'tool who' }] })
    expect(events).toEqual([])
  }
  expect([ran, model.requests.length]).toEqual([[], 1])
  expect(await checkpoints.load(first.checkpoint?.runId ?? '')).toEqual(stored)

  const { result } = agent.resume(first.checkpoint?.runId ?? '', answers, { context: { tenant: 'beta' } })
  expect(outputsOf((await settled(result)).messages)).toEqual(['yes', { tenant: 'beta' }])
  expect(ran).toEqual(['hook', 'ask'])
  // Its result exists, so nothing needs a context any more.
  expect((await settled(agent.resume(first.checkpoint?.runId ?? '').result)).text).toBe('Done.')
})

const adding: Record<string, (added: Tool) => Middleware> = {
  beforeAgent: (added) => ({ name: 'adds', beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, added] }) }),
  wrapAgent: (added) => ({
    name: 'adds',
    async *wrapAgent(setup, next) {
      return yield* next({ ...setup, tools: [...setup.tools, added] })
    },
  }),
}

test.each(Object.entries(adding))(
  'a tool that is added by %s is checked when it is added, before the model is called (M11)',
  async (_, add) => {
    const added = teller('who', z.object({ tenant: z.string() }))
    const model = calling('who')
    const agent = createAgent({ model, middleware: [add(added)] })
    expect(await failureOf(agent.run('Go', { context: {} }))).toMatchObject({
      name: 'ContextError',
      issues: [{ path: 'tool who.tenant' }],
    })
    expect(model.requests).toEqual([])
    expect(outputsOf((await settled(agent.run('Go', { context: { tenant: 'acme' } }))).messages)).toEqual([
      { tenant: 'acme' },
    ])
  },
)

test('a resume without the context that an added tool needs leaves the stored run unchanged (L19)', async () => {
  const checkpoints = memoryStore()
  const model = scriptedModel([respond(call('ask')), respond(call('who')), respond(say('Done.'))])
  const added = teller('who', z.object({ tenant: z.string() }))
  const agent = createAgent({
    model,
    tools: [asks(() => undefined)],
    middleware: [adding.beforeAgent?.(added) ?? { name: 'none' }],
    checkpoints,
  })
  const first = await settled(agent.run('Go', { context: { tenant: 'acme' } }))
  const id = first.checkpoint?.runId ?? ''
  const stored = await checkpoints.load(id)
  const answers = { [first.interrupts?.[0]?.id ?? '']: 'yes' }
  expect(await failureOf(agent.resume(id, answers).result)).toBeInstanceOf(ContextError)
  expect(await checkpoints.load(id)).toEqual(stored)
  expect((await settled(agent.resume(id, answers, { context: { tenant: 'acme' } }).result)).text).toBe('Done.')
})

test('no event, result, checkpoint or span contains anything of the context (B2)', async () => {
  const { telemetry, spans } = observed()
  const checkpoints = memoryStore()
  const saved: unknown[] = []
  const store = {
    ...checkpoints,
    load: checkpoints.load.bind(checkpoints),
    save: async (...given: Parameters<typeof checkpoints.save>) => {
      saved.push(structuredClone(given))
      return await checkpoints.save(...given)
    },
  }
  const secret = contextOf(z.object({ secret: z.string() }))
  const uses: Middleware = { name: 'uses', context: secret, beforeModel: (_, run) => void secret(run).secret.length }
  const plain = tool({
    name: 'use',
    description: 'u',
    input,
    context: secret,
    execute: (_, { context }) => context.secret.length,
  })
  const fails = tool({
    name: 'fails',
    description: 'f',
    input,
    context: secret,
    execute: () => {
      throw new Error('no luck')
    },
  })
  const agent = createAgent({
    model: calling('use', 'fails'),
    tools: [plain as Tool, fails as Tool],
    middleware: [uses],
    checkpoints: store,
    telemetry: { ...telemetry, captureContent: true },
  })
  const { events, result } = await settled(collect(agent.stream('Go', { context: { secret: SECRET } })))
  expect(result?.text).toBe('Done.')
  expect(saved.length).toBeGreaterThan(0)
  const shown = spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
  expect(shown.length).toBeGreaterThan(4)
  expect(JSON.stringify([events, result, saved, shown])).not.toContain(SECRET)
})

test('hooks, wraps and the functions in their options read their part with contextOf, which is the same in all of them (D1)', async () => {
  const schema = counted(part)
  const read = contextOf(schema)
  const seen: unknown[] = []
  const reads: Middleware = {
    name: 'reads',
    context: read,
    beforeModel: (_, run) => void seen.push(read(run)),
    async *wrapToolCall(one, next, run) {
      seen.push(read(run))
      return yield* next(one)
    },
  }
  const inTool = tool({
    name: 'inside',
    description: 'i',
    input,
    execute: (_, { run }) => void seen.push(run && read(run)),
  })
  const agent = createAgent({ model: calling('inside'), tools: [inTool as Tool], middleware: [reads] })
  const context = { tenant: 'acme' }
  await settled(agent.run('Go', { context }))
  expect(seen).toHaveLength(4)
  expect(seen.every((one) => one === context)).toBe(true)
  expect(schema.checks).toBe(1)
})

test('a part that nothing has declared is checked when it is read; one whose schema returns a promise must be declared (D1)', async () => {
  const schema = counted((value) => (typeof value === 'string' ? { value } : { issues: [{ message: 'no text' }] }))
  const later = counted(async (value) => ({ value }))
  const of = (read: (run: Run) => unknown, declared?: StandardSchemaV1) => {
    const hook: Middleware = {
      name: 'hook',
      ...(declared && { context: declared }),
      beforeModel: (_, run) => {
        read(run)
        read(run)
      },
    }
    return createAgent({ model: scriptedModel([respond(say('Hi.'))]), middleware: [hook] })
  }
  const [now, promised] = [contextOf(schema), contextOf(later)]
  expect((await settled(of(now).run('Go', { context: 'acme' }))).text).toBe('Hi.')
  expect(schema.checks).toBe(1)
  expect(await failureOf(of(now).run('Go', { context: 3 }))).toMatchObject({
    name: 'ContextError',
    issues: [{ path: 'hook', message: 'no text' }],
  })
  expect(await failureOf(of(promised).run('Go', { context: 3 }))).toMatchObject({
    name: 'ContextError',
    issues: [
      { path: 'hook', message: 'its schema returns a promise: declare this reader as the context of a middleware' },
    ],
  })
  expect((await settled(of(promised, promised).run('Go', { context: 3 }))).text).toBe('Hi.')
})

test('a reader of the context accepts only a run, and is created only from a schema (D5, A2)', () => {
  expect(() => contextOf(z.object({}))({} as Run)).toThrow(TypeError)
  expect(() => contextOf({} as StandardSchemaV1)).toThrow(ConfigError)
  expect(() => contextOf(undefined as never)).toThrow(ConfigError)
})

test('a context that is not a schema is a ConfigError of its tool or middleware (A2)', () => {
  const model = scriptedModel([])
  const wrong = {} as StandardSchemaV1
  expect(() => createAgent({ model, tools: [teller('who', wrong)] })).toThrow(
    'tools.who.context: must be a Standard Schema',
  )
  expect(() => createAgent({ model, middleware: [{ name: 'audit', context: wrong }] })).toThrow(
    'middleware.audit.context: must be a Standard Schema',
  )
})

test('a tool that starts with some members of its input receives its part of the context, too (H31)', async () => {
  const schema = z.object({ a: z.string(), b: z.string() })
  const joins = tool({
    name: 'joins',
    description: 'j',
    input: schema,
    effect: 'read',
    needs: ['a'],
    context: z.object({ tenant: z.string() }),
    execute: async ({ a }, { rest, context }) => `${context.tenant}${a}${(await rest).b}`,
  })
  const model = scriptedModel([respond(call('joins', { a: '1', b: '2' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [joins as Tool] })
  expect(outputsOf((await settled(agent.run('Go', { context: { tenant: 'acme' } }))).messages)).toEqual(['acme12'])
})

test('runTool accepts a context for a tool that needs one (I11)', async () => {
  const who = teller('who', z.object({ tenant: z.string() }))
  expect(await settled(runTool(who, {}, { context: { tenant: 'acme', more: 1 } }).result)).toEqual({ tenant: 'acme' })
  expect(await failureOf(runTool(who, {}).result)).toMatchObject({
    name: 'ContextError',
    issues: [{ path: 'tool who' }],
  })
  const never = teller(
    'who',
    counted(() => new Promise(() => undefined)),
  )
  const run = runTool(never, {})
  const failed = failureOf(run.result)
  run.cancel()
  expect(await failed).toMatchObject({ name: 'ToolCancelledError' })
})
