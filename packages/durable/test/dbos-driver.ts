/** Opens DBOS as a process does: as a worker if it has a name, otherwise only to wake runs. */

import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'
import { Pool } from 'pg'
import { type DbosOptions, dbosEngine } from '../src/dbos.ts'
import type { Engine } from '../src/index.ts'

export interface OpenEngine {
  readonly engine: Engine
  close(): Promise<void>
}

const silent = { info() {}, debug() {}, warn() {}, error() {} }

export async function openDbos(url: string, worker?: string, options: Partial<DbosOptions> = {}): Promise<OpenEngine> {
  const pool = new Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  if (worker === undefined) {
    await DBOS.migrate(url)
    const client = await DBOSClient.create({ systemDatabaseUrl: url, applicationName: 'clerk' })
    return {
      engine: dbosEngine({ client }),
      async close() {
        await client.destroy()
        await pool.end()
      },
    }
  }
  DBOS.setConfig({ name: 'clerk', systemDatabaseUrl: url, executorID: worker, applicationVersion: '1', logger: silent })
  const engine = dbosEngine({ pool, heartbeat: 500, deadAfter: 3_000, ...options })
  await DBOS.launch()
  return {
    engine,
    async close() {
      await DBOS.shutdown({ deregister: true })
      await pool.end()
    },
  }
}
