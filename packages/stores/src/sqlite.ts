/** Stores checkpoints in a SQLite database, for the processes of one machine. */

import { CheckpointConflictError, CheckpointCorruptError, type CheckpointStore } from '@meanwhile/core'
import { readCheckpoint, writtenCheckpoint } from '@meanwhile/core/calls'
import { openSqlite, type SqliteFile, sqliteCode, sqliteKey, whenUnlocked } from './sqlite-file.ts'

export * from './sqlite-file.ts'

export interface SqliteStore extends CheckpointStore {
  /** Closes the database. Afterwards every method rejects. */
  close(): void
}

/**
 * Opens the database, and creates it with the mode 600 if it does not exist; each `:memory:` is a new database. Every save is one statement: if two
 * processes replace one revision, one of them succeeds, and a finished save is on the disk. `node:sqlite` is synchronous: a save blocks the thread for
 * a write to the disk. While another process writes, a method tries again; after 5 s it rejects with a `CheckpointStoreError`.
 * @throws {ConfigError} The path is not a string.
 * @throws {CheckpointStoreError} The file cannot be opened, or is not a database; `cause` is SQLite's error.
 */
export function sqliteStore(path: string): SqliteStore {
  const { database, sql } = openSqlite(path, CHECKPOINT_TABLE, CHECKPOINT_STATEMENTS)
  return {
    async load(id) {
      const row = await whenUnlocked('load', id, () => readable(id, () => sql.checkpoint.get(sqliteKey(id))))
      return row && readCheckpoint(id, String(row.checkpoint))
    },
    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      await whenUnlocked('save', id, () => writeCheckpoint(sql, { id, revision: checkpoint.revision, text, expected }))
    },
    async delete(id) {
      await whenUnlocked('save', id, () => sql.deleteCheckpoint.run(sqliteKey(id)))
    },
    async prune({ olderThan }) {
      return Number((await whenUnlocked('save', '', () => sql.prune.run(Number(olderThan)))).changes)
    },
    close() {
      database.close()
    },
  }
}

/** Creates the table of checkpoints, for packages that have it next to their own tables. */
export const CHECKPOINT_TABLE: string = `
  CREATE TABLE IF NOT EXISTS checkpoints (
    id TEXT PRIMARY KEY, revision INTEGER NOT NULL, saved_at INTEGER NOT NULL, checkpoint TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS checkpoints_saved_at ON checkpoints (saved_at);
`

export type CheckpointStatement = 'checkpoint' | 'insertCheckpoint' | 'updateCheckpoint' | 'deleteCheckpoint' | 'prune'

/** The statements on {@link CHECKPOINT_TABLE}. */
export const CHECKPOINT_STATEMENTS: Readonly<Record<CheckpointStatement, string>> = {
  checkpoint: 'SELECT revision, checkpoint FROM checkpoints WHERE id = ?',
  insertCheckpoint:
    'INSERT INTO checkpoints (revision, saved_at, checkpoint, id) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  updateCheckpoint: 'UPDATE checkpoints SET revision = ?, saved_at = ?, checkpoint = ? WHERE id = ? AND revision = ?',
  deleteCheckpoint: 'DELETE FROM checkpoints WHERE id = ?',
  prune: 'DELETE FROM checkpoints WHERE saved_at < ?',
}

/** A checkpoint as text, and the revision that it replaces. */
export interface WrittenCheckpoint {
  readonly id: string
  readonly revision: number
  readonly text: string
  readonly expected: number
}

/** @throws {CheckpointConflictError} Another revision than `expected` is stored. */
export function writeCheckpoint(
  sql: SqliteFile<CheckpointStatement>['sql'],
  { id, revision, text, expected }: WrittenCheckpoint,
): void {
  const row = [revision, Date.now(), text, sqliteKey(id)] as const
  const { changes } = expected === 0 ? sql.insertCheckpoint.run(...row) : sql.updateCheckpoint.run(...row, expected)
  if (changes === 1) return
  const found = sql.checkpoint.get(sqliteKey(id))?.revision
  throw new CheckpointConflictError(id, expected, found === undefined ? undefined : Number(found))
}

const [SQLITE_CORRUPT, SQLITE_NOTADB] = [11, 26]

function readable<Row>(id: string, read: () => Row): Row {
  try {
    return read()
  } catch (cause) {
    if (![SQLITE_CORRUPT, SQLITE_NOTADB].includes(sqliteCode(cause))) throw cause
    throw new CheckpointCorruptError(id, 'the database is damaged', { cause })
  }
}
