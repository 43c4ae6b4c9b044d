import type { Pool } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { type PostgresThreadsPool, postgresThreads } from '../postgres.ts'

test('a pool of pg can be given', () => {
  expectTypeOf<Pool>().toExtend<PostgresThreadsPool>()
  expectTypeOf(postgresThreads).toBeCallableWith({ pool: {} as Pool, schema: 'chat', retries: 0 })
})
