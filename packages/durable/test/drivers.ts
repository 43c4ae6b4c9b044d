/** The engines that runs are killed on, as a process opens them. */

import { PgBoss } from 'pg-boss'
import type { Engine } from '../src/index.ts'
import { pgBossEngine } from '../src/pg-boss.ts'

export type DriverName = 'pg-boss' | 'dbos'

export interface OpenEngine {
  readonly engine: Engine
  close(): Promise<void>
}

/** `worker`: the name of the process, if it is one that works. */
export async function openEngine(driver: DriverName, url: string, worker?: string): Promise<OpenEngine> {
  if (driver === 'dbos') return await (await import('./dbos-driver.ts')).openDbos(url, worker)
  const boss = new PgBoss({ connectionString: url, max: 6, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1 })
  boss.on('error', () => {})
  return { engine: pgBossEngine(boss), close: () => boss.stop({ graceful: false }) }
}

/** Statements after which the engine takes whoever works on these runs for dead: what else would take it 10 s to notice. */
export function death(driver: DriverName): string {
  return driver === 'dbos'
    ? `UPDATE meanwhile.dbos_workers SET seen_at = now() - interval '1 hour' WHERE id = $2 AND $1::text[] IS NOT NULL`
    : `UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active' AND data->>'id' = ANY($1) AND $2::text IS NOT NULL`
}
