/** Keeps the times of turns in PostgreSQL, where the servers find what the workers have noted. */

import type { Pool } from 'pg'
import type { TimesStore } from '../timelines.ts'
import type { Times } from '../times.ts'

export async function setUpPostgresTimes(pool: Pool): Promise<void> {
  await pool.query('CREATE TABLE IF NOT EXISTS chat_timelines (turn text PRIMARY KEY, times jsonb NOT NULL)')
}

export function postgresTimes(pool: Pool): TimesStore {
  // One after the other, so that the newest stays.
  let writing: Promise<unknown> = Promise.resolve()
  return {
    async read(turns) {
      const { rows } = await pool.query('SELECT turn, times FROM chat_timelines WHERE turn = ANY($1)', [turns])
      return new Map(rows.map(({ turn, times }: { turn: string; times: Times }) => [turn, times]))
    },
    save(turn, times) {
      const row = [turn, JSON.stringify(times)]
      writing = writing
        .then(() =>
          pool.query('INSERT INTO chat_timelines VALUES ($1, $2) ON CONFLICT (turn) DO UPDATE SET times = $2', row),
        )
        .catch((error: Error) => console.error(error.message))
    },
  }
}
