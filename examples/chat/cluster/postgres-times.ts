/** Keeps the times of turns in PostgreSQL, where the servers find what the workers have noted. */

import type { Pool } from 'pg'
import type { TimesStore } from '../timelines.ts'

export async function setUpPostgresTimes(pool: Pool): Promise<void> {
  await pool.query('CREATE TABLE IF NOT EXISTS chat_timelines (turn text PRIMARY KEY, times jsonb NOT NULL)')
}

const SAVE = 'INSERT INTO chat_timelines VALUES ($1, $2) ON CONFLICT (turn) DO UPDATE SET times = $2'

export function postgresTimes(pool: Pool): TimesStore {
  /** The times to write: of each turn only the newest, however slow the database is. */
  const waiting = new Map<string, string>()
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    for (const [turn, times] of waiting) {
      waiting.delete(turn)
      await pool.query(SAVE, [turn, times]).catch((error: Error) => console.error(error.message))
    }
    writing = undefined
  }

  return {
    async read(turn) {
      const { rows } = await pool.query('SELECT times::text FROM chat_timelines WHERE turn = $1', [turn])
      return rows[0]?.times
    },
    save(turn, times) {
      waiting.set(turn, times)
      writing ??= write()
      return writing
    },
  }
}
