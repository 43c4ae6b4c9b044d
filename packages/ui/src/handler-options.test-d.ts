import type { Threads } from '@meanwhile/threads'
import { expectTypeOf, test } from 'vitest'
import { agUiHandler } from './ag-ui/index.ts'
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
