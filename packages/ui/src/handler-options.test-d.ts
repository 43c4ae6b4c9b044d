import type { Threads } from '@meanwhile/threads'
import { expectTypeOf, test } from 'vitest'
import { type Action, agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const threads = {} as Threads<{ tenant: string }>

test('open returns the context of the threads, nothing, or a response', () => {
  expectTypeOf(chatHandler<{ tenant: string }>).toBeCallableWith({ threads, open: () => ({ tenant: 'acme' }) })
  expectTypeOf(agUiHandler<{ tenant: string }>).toBeCallableWith({ threads, open: async () => new Response() })
  chatHandler({ threads, open: () => undefined })
  // @ts-expect-error The tenant is not a number.
  chatHandler({ threads, open: () => ({ tenant: 1 }) })
  // @ts-expect-error The tenant is not a number.
  agUiHandler({ threads, open: async () => ({ tenant: 1 }) })
  chatHandler({ threads: {} as Threads, open: () => ({ tenant: 1 }) })
})

test('a context is an object, and no array or function (W24)', () => {
  const untyped = {} as Threads
  class Session {
    readonly user = 'ada'
  }
  expectTypeOf(chatHandler).toBeCallableWith({ threads: untyped, open: () => new Session() })
  chatHandler({ threads: untyped, open: async () => ({ user: 'ada' }) })
  agUiHandler({ threads: {} as Threads<Session>, open: () => new Session() })
  agUiHandler({ threads: untyped, open: () => undefined })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: () => null })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: () => false })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: (request) => request.headers.has('cookie') })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: () => 'ada' })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: async () => 0 })
  // @ts-expect-error
  agUiHandler({ threads: untyped, open: async (request) => (request.headers.has('cookie') ? { user: 'ada' } : null) })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: () => ['ada'] })
  // @ts-expect-error
  chatHandler({ threads: untyped, open: (): readonly string[] => [] })
  // @ts-expect-error
  agUiHandler({ threads: untyped, open: () => () => ({ user: 'ada' }) })
  // @ts-expect-error
  agUiHandler({ threads: untyped, open: () => Session })
  // @ts-expect-error
  agUiHandler({ threads: {} as Threads<string>, open: () => 'ada' })
})

test('allow returns nothing or a response (W25)', () => {
  const open = () => undefined
  expectTypeOf(chatHandler<{ tenant: string }>).toBeCallableWith({ threads, open, allow: () => undefined })
  chatHandler({ threads, open, allow: async () => undefined })
  chatHandler({ threads, open, allow: ({ headers }) => (headers.has('cookie') ? undefined : new Response()) })
  // @ts-expect-error
  chatHandler({ threads, open, allow: ({ headers }) => headers.has('cookie') })
  // @ts-expect-error
  agUiHandler({ threads, open, allow: async () => null })
  // @ts-expect-error
  agUiHandler({ threads, open, allow: () => ({ user: 'ada' }) })
})

test('open receives what the request does, and metadata and by get what it returned (W52, W53)', () => {
  chatHandler({
    threads,
    open: async (_request, _thread, { action, turn }) => {
      expectTypeOf(action).toEqualTypeOf<Action>()
      const owner = (await turn())?.metadata
      return owner === 'ada' ? { tenant: 'acme' } : new Response(null, { status: 403 })
    },
    metadata: (context) => ({ tenant: context?.tenant ?? '' }),
    by: (context) => context?.tenant,
  })
  // @ts-expect-error Metadata is JSON.
  agUiHandler({ threads, open: () => undefined, metadata: () => new Map() })
})

test('with durable runs open returns any object, because their workers make the context (W52)', () => {
  const durable = {} as Threads<undefined>
  agUiHandler({
    threads: durable,
    open: () => ({ user: 'ada' }),
    metadata: (context) => ({ user: String(context?.user) }),
  })
  expectTypeOf(chatHandler<undefined>).toBeCallableWith({ threads: durable, open: () => ({ user: 'ada' }) })
  // @ts-expect-error
  chatHandler({ threads: durable, open: () => 'ada' })
})
