import { setTimeout as wait } from 'node:timers/promises'
import type { Pool } from 'pg'

/** When nothing was written for this time, all writes are done. */
const QUIET_MS = 100

/**
 * Returns how many transactions have written or notified on this server. Waits until nothing is written any more, because an engine stores the end of a job
 * after the end of its run.
 */
export async function commitsIn(pool: Pool): Promise<number> {
  for (let before = await assigned(pool); ; ) {
    await wait(QUIET_MS)
    const now = await assigned(pool)
    if (now === before) return now
    before = now
  }
}

/** A transaction gets a number when it first writes, or when it notifies. */
async function assigned(pool: Pool): Promise<number> {
  const { rows } = await pool.query('SELECT pg_snapshot_xmax(pg_current_snapshot()) AS next')
  return Number(rows[0]?.next)
}
