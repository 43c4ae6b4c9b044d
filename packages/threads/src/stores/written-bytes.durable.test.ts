import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { bytesByLength } from '../../test/long-threads.ts'
import { type PostgresThreadsOptions, postgresThreads, setUpPostgresThreads } from '../postgres.ts'

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
      if (by === 'transactions') await pool.query('DROP FUNCTION meanwhile.write_thread_1')
      let sent = 0
      const counting: PostgresThreadsOptions['pool'] = {
        query(text, values) {
          sent += bytesIn(values)
          return pool.query(text, values)
        },
        async connect() {
          const client = await pool.connect()
          return Object.assign(Object.create(client), {
            query(text: string, values?: unknown[]) {
              sent += bytesIn(values)
              return client.query(text, values)
            },
          })
        },
      }
      const [few, ...more] = await bytesByLength(postgresThreads({ pool: counting }), async () => sent)
      for (const bytes of more) expect(bytes).toBeLessThan(1.1 * few)
    } finally {
      await pool.end()
    }
  },
)
