import { scriptedModel } from '@meanwhile/assemble/testing'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  agentTool,
  contextOf,
  createAgent,
  type ExecutedTool,
  type Run,
  type RunOptions,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'

interface Db {
  orders(tenant: string): string[]
}

const tenancy = z.object({ tenant: z.string() })

const plain = tool({
  name: 'a',
  description: '',
  input: z.object({ city: z.string() }),
  execute: ({ city }, context) => {
    expectTypeOf(city).toEqualTypeOf<string>()
    expectTypeOf(context).toEqualTypeOf<ToolContext<unknown>>()
    return city.length
  },
})
const typed = tool({
  name: 'o',
  description: '',
  input: z.object({ status: z.string() }),
  effect: 'read',
  context: z.object({ tenant: z.string(), db: z.custom<Db>() }),
  execute: ({ status }, { context, callId }) => {
    expectTypeOf(status).toEqualTypeOf<string>()
    expectTypeOf(context).toEqualTypeOf<{ tenant: string; db: Db }>()
    expectTypeOf(callId).toEqualTypeOf<string>()
    return context.db.orders(context.tenant)
  },
})
const both = tool({
  name: 'b',
  description: '',
  input: z.object({ a: z.string(), b: z.number() }),
  needs: ['a'],
  effect: 'read',
  context: tenancy,
  execute: async (input, { context, rest }) => {
    expectTypeOf(input).toEqualTypeOf<{ a: string }>()
    expectTypeOf(context).toEqualTypeOf<{ tenant: string }>()
    return input.a + (await rest).b
  },
})
const generated = tool({
  name: 'g',
  description: '',
  input: z.object({}),
  context: tenancy,
  async *execute(_, { context }) {
    yield { progress: 1 }
    return context.tenant
  },
})
const client = tool({ name: 'c', description: '', input: z.object({ a: z.string() }), output: z.string() })

test('a tool without a context keeps its types; with one its context has the type of its schema, and both fit in one list', () => {
  expectTypeOf(plain).toEqualTypeOf<
    ExecutedTool<{ city: string }, number, unknown> & { readonly needs?: undefined } & { readonly context?: never }
  >()
  expectTypeOf(typed).toExtend<Tool<{ status: string }, string[]>>()
  const list = [plain, both, generated, client, typed] as readonly Tool[]
  expectTypeOf(list).toEqualTypeOf<readonly Tool[]>()
  tool({
    ...plain,
    name: 'd',
    execute: (_, context) => {
      expectTypeOf(context).toEqualTypeOf<ToolContext<unknown>>()
      return 1
    },
  })
  tool({ ...typed, name: 'e', execute: (_, { context }) => context.db.orders(context.tenant) })
})

test('a member that the schema does not have, and a context without a schema, are type errors', () => {
  tool({
    name: 'x',
    description: '',
    input: z.object({}),
    context: tenancy,
    // @ts-expect-error The schema has no such member.
    execute: (_, { context }) => context.user,
  })
  expectTypeOf<ToolContext>().not.toHaveProperty('context')
  tool({
    name: 'x',
    description: '',
    input: z.object({}),
    // @ts-expect-error There is no schema.
    execute: (_, { context }) => context,
  })
})

test('a reader has the type of its schema, and declares it', () => {
  const tenant = contextOf(tenancy)
  expectTypeOf<typeof tenant>().toBeCallableWith({} as Run)
  expectTypeOf(tenant).returns.toEqualTypeOf<{ tenant: string }>()
  tool({
    name: 'r',
    description: '',
    input: z.object({}),
    context: tenant,
    execute: (_, { context }) => expectTypeOf(context).toEqualTypeOf<{ tenant: string }>(),
  })
  const agent = createAgent({
    model: scriptedModel([]),
    output: z.object({ n: z.number() }),
    middleware: [{ name: 'm', context: tenant }],
    instructions: (run) => tenant(run).tenant,
    telemetry: { attributes: (run) => tenant(run) },
  })
  expectTypeOf(agent).toEqualTypeOf<Agent<{ n: number }, { tenant: string }>>()
  expectTypeOf(agent.with({ maxSteps: 2 })).toEqualTypeOf<Agent<{ n: number }, { tenant: string }>>()
  expectTypeOf<RunOptions['context']>().toEqualTypeOf<unknown>()
  // @ts-expect-error The output is the type of the agent.
  agent.with({ output: z.object({}) })
})

const model = scriptedModel([])
const needing = createAgent({ model, name: 'n', description: '', tools: [plain, typed, both] })
const free = createAgent({ model, name: 'f', description: '', tools: [plain] })

test('an agent whose tools declare a context needs it in each run and each resume', () => {
  expectTypeOf(needing).toEqualTypeOf<Agent<unknown, { tenant: string; db: Db } & { tenant: string }>>()
  expectTypeOf(free).toEqualTypeOf<Agent>()
  const context = { tenant: 'acme', db: {} as Db }
  void needing.run('Hi', { context })
  void needing.stream('Hi', { context, id: 'r' })
  void needing.resume('r', undefined, { context, rerun: ['read'] })
  // @ts-expect-error There is no context.
  void needing.run('Hi')
  // @ts-expect-error There is no context.
  void needing.stream('Hi', { id: 'r' })
  // @ts-expect-error There is no context.
  void needing.resume('r', {})
  // @ts-expect-error A part is missing.
  void needing.run('Hi', { context: { tenant: 'acme' } })
  void needing.begin('Hi')
  void free.run('Hi')
  void free.resume('r')
  void free.run('Hi', { context: 1 })
})

test('an agent that was changed needs the context of both', () => {
  expectTypeOf(free.with({ maxSteps: 2 })).toEqualTypeOf<Agent>()
  void free.with({ tools: [both] }).run('Hi', { context: { tenant: 'acme' } })
  // @ts-expect-error There is no context.
  void free.with({ tools: [both] }).run('Hi')
  // @ts-expect-error There is no context.
  void needing.with({ maxSteps: 2 }).run('Hi')
  void free.with({ middleware: [{ name: 'm', beforeModel: (state) => state }] }).run('Hi')
})

test('the context is the input of the schemas, and all of them need it together', () => {
  const counted = tool({
    name: 'c',
    description: '',
    input: z.object({}),
    context: z.object({ limit: z.string().transform(Number), user: z.string().optional() }),
    execute: (_, { context }) => expectTypeOf(context.limit).toEqualTypeOf<number>(),
  })
  const audit = { name: 'audit', context: contextOf(z.object({ trace: z.number() })) }
  const agent = createAgent({ model, tools: [counted, both], middleware: [audit] })
  void agent.run('Hi', { context: { limit: '3', tenant: 'acme', trace: 1 } })
  // @ts-expect-error The limit is a text before the schema has read it.
  void agent.run('Hi', { context: { limit: 3, tenant: 'acme', trace: 1 } })
  // @ts-expect-error The middleware reads the trace.
  void agent.run('Hi', { context: { limit: '3', tenant: 'acme' } })
})

test('a list of tools keeps what each declares; tools and agents whose types are not known need nothing by type', () => {
  const same = tool({ name: 's', description: '', input: z.object({}), context: tenancy, execute: () => 'x' })
  const without = tool({ name: 'w', description: '', input: z.object({}), execute: () => 'x' })
  const list = [without, same]
  // @ts-expect-error There is no context.
  void createAgent({ model, tools: list }).run('Hi')
  // @ts-expect-error There is no context.
  void createAgent({ model, tools: [without, ...list] }).run('Hi')
  expectTypeOf(createAgent({ model, tools: list as readonly Tool[] })).toEqualTypeOf<Agent>()
  const any: Agent = needing
  void any.run('Hi')
  // @ts-expect-error It needs more than this.
  needing satisfies Agent<unknown, { tenant: number }>
})

test('a tool that runs an agent declares its context, unless an option makes it', () => {
  const passing = createAgent({ model, tools: [agentTool(needing)] })
  void passing.run('Hi', { context: { tenant: 'acme', db: {} as Db } })
  // @ts-expect-error There is no context.
  void passing.run('Hi')
  const asking = agentTool(needing, { input: z.object({ q: z.string() }) })
  expectTypeOf(asking).toExtend<Tool<{ q: string }>>()
  // @ts-expect-error There is no context.
  void createAgent({ model, tools: [asking] }).run('Hi')
  const making = agentTool(needing, { context: async () => ({ tenant: 'acme', db: {} as Db }) })
  void createAgent({ model, tools: [making, agentTool(free)] }).run('Hi')
  // @ts-expect-error A part is missing.
  agentTool(needing, { context: () => ({ tenant: 'acme' }) })
  expectTypeOf(agentTool(free)).toEqualTypeOf<Tool<{ readonly request: string }>>()
})
