import { DatabaseSync } from 'node:sqlite'
import type { TimesStore } from './timelines.ts'

/** Keeps times in the SQLite file of the chat, in their own table. */
export function sqliteTimes(file: string): TimesStore & { close(): void } {
  const database = new DatabaseSync(file, { timeout: 1_000 })
  database.exec('CREATE TABLE IF NOT EXISTS timelines (turn TEXT PRIMARY KEY, times TEXT NOT NULL)')
  const reading = database.prepare('SELECT times FROM timelines WHERE turn = ?')
  const saving = database.prepare('INSERT OR REPLACE INTO timelines VALUES (?, ?)')
  return {
    read: (turn) => reading.get(turn)?.times?.toString(),
    save: (turn, times) => void saving.run(turn, times),
    close: () => database.close(),
  }
}
