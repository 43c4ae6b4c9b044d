/** An empty database for the tests of a file, and pools over it. */

import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { setUpDurable } from '../src/index.ts'

export interface TestDatabase {
  readonly url: string
  /** A separate pool, as another process has it. Closed after all tests. */
  pool(max?: number): Pool
  /** A schema with empty tables. */
  schema(): Promise<string>
}

export function testDatabase(): TestDatabase {
  let url = ''
  let schemas = 0
  const pools: Pool[] = []
  beforeAll(async () => {
    url = await ownDatabase()
  })
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })
  const pool = (max = 10): Pool => {
    const made = new Pool({ connectionString: url, max })
    made.on('error', () => {})
    pools.push(made)
    return made
  }
  return {
    get url() {
      return url
    },
    pool,
    async schema() {
      const schema = `schema_${++schemas}`
      await setUpDurable({ pool: pools[0] ?? pool(), schema })
      return schema
    },
  }
}
