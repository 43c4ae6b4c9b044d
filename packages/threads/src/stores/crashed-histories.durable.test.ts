import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { sized } from '@meanwhile/tests/size'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { countedPool, fakeTimers } from '../../test/counted-pool.ts'
import { checkCrashes, REQUESTS } from '../../test/crashed-histories.ts'
import { postgresThreads, setUpPostgresThreads } from '../postgres.ts'

let pool: Pool

beforeEach(async () => {
  pool = new Pool({ connectionString: await ownDatabase(), idleTimeoutMillis: 0 })
})

afterEach(async () => {
  vi.useRealTimers()
  await pool.end()
})

test.each(Object.entries(REQUESTS))(
  'postgres: after a crash at any write of %s, the thread and its history are as without the crash, and each stored checkpoint is whole (TH6, L13, W62)',
  async (_, requests) => {
    const counted = countedPool(pool)
    let schemas = 0
    fakeTimers()
    const newStore = async () => {
      const schema = `crashed_${++schemas}`
      await setUpPostgresThreads({ pool, schema })
      return postgresThreads({ pool: counted.pool, schema })
    }
    // Leases are judged by the clock of the database.
    const expire = async () => void (await pool.query('SELECT pg_sleep(0.2)'))
    const every = sized({ small: 10, middle: 10, whole: 1 })
    await expect(checkCrashes({ newStore, pass: counted.pass, expire, every }, requests)).resolves.toBeUndefined()
  },
)
