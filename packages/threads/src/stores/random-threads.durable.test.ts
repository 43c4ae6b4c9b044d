import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { countedPool, fakeTimers } from '../../test/counted-pool.ts'
import { checkRandomThreads, FOUND } from '../../test/random-threads.ts'
import { postgresThreads, setUpPostgresThreads } from '../postgres.ts'

let pool: Pool

beforeEach(async () => {
  pool = new Pool({ connectionString: await ownDatabase(), idleTimeoutMillis: 0 })
})

afterEach(async () => {
  vi.useRealTimers()
  await pool.end()
})

test('postgres: after any sequence of requests and crashes, the history is valid, no message is lost, and no question or change is repeated (TH1, TH2, TH3, TH5, TH6, TH8, TH11)', async () => {
  const counted = countedPool(pool)
  let schemas = 0
  fakeTimers()
  const checked = checkRandomThreads({
    async newStore() {
      const schema = `random_${++schemas}`
      await setUpPostgresThreads({ pool, schema })
      return postgresThreads({ pool: counted.pool, schema })
    },
    pass: counted.pass,
    found: FOUND.postgres,
    // Shrinking would outlast the time limit, and hide what failed.
    runs: { ...propertyRuns({ small: 3, middle: 3, whole: 200 }), endOnFailure: true },
  })
  await expect(checked).resolves.toBeUndefined()
})
