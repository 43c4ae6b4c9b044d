/** Opens threads whose turns are durable runs on pg-boss, as each process of a cluster does. */

import { type DurableRuns, durableRuns, setUpDurable } from '@meanwhile/durable'
import { pgBossEngine } from '@meanwhile/durable/pg-boss'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { createThreads, type Threads } from '../src/index.ts'
import { postgresThreads, setUpPostgresThreads } from '../src/postgres.ts'
import { clerk } from './clerk.ts'

export interface BossThreads {
  readonly pool: Pool
  readonly runs: DurableRuns
  readonly threads: Threads<undefined>
  close(): Promise<void>
}

/** `note` is called with what the tools do. */
export async function openThreads(url: string, note: (text: string) => void): Promise<BossThreads> {
  const pool = new Pool({ connectionString: url, max: 10 })
  pool.on('error', () => {})
  await setUpDurable({ pool })
  await setUpPostgresThreads({ pool })
  const boss = new PgBoss({ connectionString: url, max: 6, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1 })
  boss.on('error', () => {})
  const runs = durableRuns({ agents: [clerk(note)], store: postgresStore({ pool }), pool, engine: pgBossEngine(boss) })
  const threads = createThreads({ runs, store: postgresThreads({ pool }), onError: () => {} })
  return {
    pool,
    runs,
    threads,
    async close() {
      await boss.stop({ graceful: false })
      await pool.end()
    },
  }
}
