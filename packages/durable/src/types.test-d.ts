import { type Agent, type CompletedResult, createAgent } from '@meanwhile/core'
import type { Pool } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { durableRuns, type PostgresPool } from './index.ts'
import { memoryEngine } from './testing.ts'

declare const plain: Agent
declare const options: Omit<Parameters<typeof durableRuns>[0], 'agents'>

test("the result of durable runs has the type of its agents' outputs", () => {
  const adder = createAgent({ name: 'adder', model: {} as never, output: z.object({ sum: z.number() }) })
  const namer = createAgent({ name: 'namer', model: {} as never, output: z.object({ name: z.string() }) })
  const runs = durableRuns({ ...options, agents: [adder, namer] })
  expectTypeOf(runs.result('run')).resolves.toEqualTypeOf<CompletedResult<{ sum: number } | { name: string }>>()
  expectTypeOf(durableRuns({ ...options, agents: [plain] }).result('run')).resolves.toEqualTypeOf<CompletedResult>()
})

test('a pool of pg is a pool', () => {
  expectTypeOf<Pool>().toExtend<PostgresPool>()
  expectTypeOf(memoryEngine).toBeCallableWith({ retryDelay: 5 })
})
