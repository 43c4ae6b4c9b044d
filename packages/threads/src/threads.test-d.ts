import { scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type PendingInterrupt, tool } from '@meanwhile/core'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  createThreads,
  type ErrorInfo,
  type ErrorPlace,
  type ThreadStore,
  type Threads,
  type ThreadsOptions,
  type TurnResult,
} from './index.ts'

const agent = {} as Agent
const store = {} as ThreadStore

test('the return type of context is the type of the context that callers pass', () => {
  const threads = createThreads({ agent, store, context: async ({ id }) => ({ tenant: id }) })
  expectTypeOf(threads).toEqualTypeOf<Threads<{ tenant: string }>>()
  expectTypeOf(threads.send).toBeCallableWith('t', 'x', { context: { tenant: 'acme' } })
  // @ts-expect-error The tenant is not a number.
  void threads.send('t', 'x', { context: { tenant: 1 } })
  // @ts-expect-error The tenant is missing.
  void threads.answer('t', {}, { context: {} })
  // @ts-expect-error The tenant is misspelt.
  void threads.retry('t', { context: { tennant: 'acme' } })
})

test('context must return the type that the call of createThreads names', () => {
  interface Tenant {
    readonly tenant: string
  }
  expectTypeOf(createThreads<Tenant>).toBeCallableWith({ agent, store })
  // @ts-expect-error The tenant is not a number.
  createThreads<Tenant>({ agent, store, context: () => ({ tenant: 1 }) })
  expectTypeOf<Threads<Tenant>>().toExtend<Threads>()
  expectTypeOf(createThreads({ agent, store })).toEqualTypeOf<Threads>()
})

test('threads of an agent that needs a context make one, or say that their callers pass it', () => {
  const orders = tool({
    name: 'orders',
    description: '',
    input: z.object({}),
    context: z.object({ tenant: z.string() }),
    execute: (_, { context }) => context.tenant,
  })
  const needing = createAgent({ model: scriptedModel([]), tools: [orders] })
  const threads = createThreads({ agent: needing, store, context: () => undefined })
  expectTypeOf(threads).toEqualTypeOf<Threads<{ tenant: string }>>()
  void threads.send('t', 'x', { context: { tenant: 'acme' } })
  // @ts-expect-error The tenant is not a number.
  void threads.send('t', 'x', { context: { tenant: 1 } })
  createThreads({ agent: async () => needing, store, context: async ({ id }) => ({ tenant: id }) })
  // @ts-expect-error There is no context.
  createThreads({ agent: needing, store })
  // @ts-expect-error There is no context.
  createThreads({ agent: () => needing, store })
  // @ts-expect-error The tenant is not a number.
  createThreads({ agent: needing, store, context: () => ({ tenant: 1 }) })
})

test('the status of a result narrows its type', () => {
  type Of<Status> = Extract<TurnResult, { status: Status }>
  expectTypeOf<Of<'waiting'>['interrupts']>().toEqualTypeOf<readonly PendingInterrupt[]>()
  expectTypeOf<Of<'failed'>['error']>().toEqualTypeOf<ErrorInfo>()
  expectTypeOf<Of<'completed'>['error']>().toEqualTypeOf<undefined>()
})

test('onError receives an error and its place', () => {
  expectTypeOf<NonNullable<ThreadsOptions['onError']>>().parameters.toEqualTypeOf<[error: unknown, at: ErrorPlace]>()
})
