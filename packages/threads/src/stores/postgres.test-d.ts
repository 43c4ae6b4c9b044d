import type { Pool } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { type PostgresThreadsPool, postgresThreads } from '../postgres.ts'

test('postgresThreads accepts a pool of pg', () => {
  expectTypeOf<Pool>().toExtend<PostgresThreadsPool>()
  expectTypeOf(postgresThreads).toBeCallableWith({ pool: {} as Pool, schema: 'chat', retries: 0 })
})
