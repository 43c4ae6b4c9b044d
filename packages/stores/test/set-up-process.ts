/** A process that sets up a schema of a database as soon as it receives a name: once for each name. */

import { Pool } from 'pg'
import { setUpPostgres } from '../src/postgres.ts'

const [url] = process.argv.slice(2)

if (process.send && url !== undefined) {
  const pool = new Pool({ connectionString: url, max: 1 })
  await pool.query('SELECT 1')
  process.on('disconnect', () => process.exit())
  process.on('message', (schema: string) => {
    setUpPostgres({ pool, schema }).then(
      () => process.send?.('done'),
      (error: unknown) => process.send?.(String(error)),
    )
  })
  process.send('ready')
}
