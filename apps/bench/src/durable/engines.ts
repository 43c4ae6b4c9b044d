/** The engines of durable runs. Each is loaded only by a process that uses it. */

import type { Engine } from '@meanwhile/durable'
import type { Pool } from 'pg'

export type EngineName = 'memory' | 'pg-boss' | 'dbos'

/** `url`: the database of the pool. The engine ends with the process. */
export async function openEngine(name: EngineName, url: string, pool: Pool): Promise<Engine> {
  return await OPEN[name](url, pool)
}

const OPEN: Readonly<Record<EngineName, (url: string, pool: Pool) => Promise<Engine>>> = {
  async memory() {
    const { memoryEngine } = await import('@meanwhile/durable/testing')
    return memoryEngine()
  },
  async 'pg-boss'(url) {
    const [{ PgBoss }, { pgBossEngine }] = await Promise.all([import('pg-boss'), import('@meanwhile/durable/pg-boss')])
    const boss = new PgBoss({ connectionString: url, useListenNotify: true })
    boss.on('error', (error) => console.error(error.message))
    return pgBossEngine(boss)
  },
  async dbos(url, pool) {
    const [{ DBOS }, { dbosEngine }] = await Promise.all([
      import('@dbos-inc/dbos-sdk'),
      import('@meanwhile/durable/dbos'),
    ])
    DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, executorID: `bench-${process.pid}`, logger: SILENT })
    const engine = dbosEngine({ pool })
    await DBOS.launch()
    return engine
  },
}

const SILENT = { info() {}, debug() {}, warn() {}, error() {} }
