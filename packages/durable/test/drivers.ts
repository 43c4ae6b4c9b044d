/** The engines of the tests that kill workers, opened as a process opens them. */

import { PgBoss } from 'pg-boss'
import { pgBossEngine } from '../src/pg-boss.ts'
import type { OpenEngine } from './dbos-driver.ts'

export const DRIVERS = ['pg-boss', 'dbos'] as const

export type DriverName = (typeof DRIVERS)[number]

/** `worker`: the name of the process, if it is a worker. `heartbeat`: milliseconds between two heartbeats, on DBOS. */
export async function openEngine(
  driver: DriverName,
  url: string,
  worker?: string,
  heartbeat?: number,
): Promise<OpenEngine> {
  if (driver === 'dbos') {
    const { openDbos } = await import('./dbos-driver.ts')
    return await openDbos(url, worker, heartbeat === undefined ? {} : { heartbeat })
  }
  const boss = new PgBoss({ connectionString: url, max: 6, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1 })
  boss.on('error', () => {})
  const engine = pgBossEngine(boss)
  return {
    engine: {
      ...engine,
      async setUp() {
        await engine.setUp?.()
        // So that a test need not wait for the next try.
        await boss.updateQueue('meanwhile', { retryDelay: 0, retryBackoff: false })
      },
    },
    close: () => boss.stop({ graceful: false }),
  }
}

/** Statements that make the engine believe the worker of these runs is dead. Without them it would take 10 s to notice. */
export function death(driver: DriverName): string {
  return driver === 'dbos'
    ? `UPDATE meanwhile.dbos_workers SET seen_at = now() - interval '1 hour' WHERE id = $2 AND $1::text[] IS NOT NULL`
    : `UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active' AND data->>'id' = ANY($1) AND $2::text IS NOT NULL`
}
