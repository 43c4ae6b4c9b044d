import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  contextOf,
  createAgent,
  type ExecutedTool,
  type Run,
  type RunOptions,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'
import { scriptedModel } from '../testing.ts'

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
  expectTypeOf(plain).toEqualTypeOf<ExecutedTool<{ city: string }, number, unknown> & { readonly needs?: undefined }>()
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

test('a reader has the type of its schema, and declares it; the agent has no type parameter for any of this', () => {
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
  expectTypeOf(agent).toEqualTypeOf<Agent<{ n: number }>>()
  expectTypeOf(agent.with({ maxSteps: 2 })).toEqualTypeOf<Agent<{ n: number }>>()
  expectTypeOf<RunOptions['context']>().toEqualTypeOf<unknown>()
  // @ts-expect-error The output is the type of the agent.
  agent.with({ output: z.object({}) })
})
