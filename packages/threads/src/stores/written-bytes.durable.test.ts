import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { Pool } from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { countedPool, fakeTimers } from '../../test/counted-pool.ts'
import { bytesByLength } from '../../test/long-threads.ts'
import { type PostgresThreadsOptions, postgresThreads, setUpPostgresThreads } from '../postgres.ts'

afterEach(() => void vi.useRealTimers())

/** The bytes of the values that statements send. */
function bytesIn(values: readonly unknown[] = []): number {
  const sizes = values.map((value) =>
    Array.isArray(value) ? bytesIn(value) : Buffer.byteLength(JSON.stringify(value ?? '')),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** `by`: whether all changes are transactions, or the owner of a turn writes with one statement. */
test.each([{ by: 'the function' }, { by: 'transactions' }])(
  'postgres: with $by a turn writes at most a tenth more bytes after 100 and 1,000 messages than in a new thread (W62)',
  async ({ by }) => {
    const pool = new Pool({ connectionString: await ownDatabase() })
    try {
      await setUpPostgresThreads({ pool })
      if (by === 'transactions') await pool.query('DROP FUNCTION meanwhile.write_thread_2')
      const counted = countedPool(pool)
      let sent = 0
      const counting: PostgresThreadsOptions['pool'] = {
        query(text, values) {
          sent += bytesIn(values)
          return counted.pool.query(text, values)
        },
        async connect() {
          const client = await counted.pool.connect()
          return Object.assign(Object.create(client), {
            query(text: string, values?: unknown[]) {
              sent += bytesIn(values)
              return client.query(text, values)
            },
          })
        },
      }
      const store = postgresThreads({ pool: counting })
      fakeTimers()
      const [few, ...more] = await bytesByLength(store, async () => sent, counted.passUntil)
      for (const bytes of more) expect(bytes).toBeLessThan(1.1 * few)
    } finally {
      await pool.end()
    }
  },
)
