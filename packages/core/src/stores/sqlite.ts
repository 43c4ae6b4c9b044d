/** Stores checkpoints in a SQLite database, for the processes of one machine. */

import { chmodSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  CheckpointConflictError,
  CheckpointCorruptError,
  CheckpointStoreError,
} from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, readCheckpoint, writtenCheckpoint } from '../vocabulary/checkpoint-store.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'

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
  const { database, select, insert, update, remove, prune } = open(path)
  return {
    async load(id) {
      const row = await whenUnlocked('load', id, () => readable(id, () => select.get(keyOf(id))))
      return row && readCheckpoint(id, String(row.checkpoint))
    },
    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      const row = [checkpoint.revision, Date.now(), text, keyOf(id)] as const
      const save = () => (expected === 0 ? insert.run(...row) : update.run(...row, expected))
      if ((await whenUnlocked('save', id, save)).changes === 1) return
      const found = select.get(keyOf(id))?.revision
      throw new CheckpointConflictError(id, expected, found === undefined ? undefined : Number(found))
    },
    async delete(id) {
      await whenUnlocked('save', id, () => remove.run(keyOf(id)))
    },
    async prune({ olderThan }) {
      return Number((await whenUnlocked('save', '', () => prune.run(Number(olderThan)))).changes)
    },
    close() {
      database.close()
    },
  }
}

/** Runs the work, again after pauses while another process has the lock of the database, for 5 s. Throws {@link CheckpointStoreError} then. */
export async function whenUnlocked<Row>(operation: 'load' | 'save', id: string, work: () => Row): Promise<Row> {
  for (const begun = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    try {
      return work()
    } catch (cause) {
      if (codeOf(cause) !== SQLITE_BUSY) throw cause
      if (performance.now() - begun > 5_000)
        throw new CheckpointStoreError(operation, id, 'another process has locked the database for 5 s', { cause })
    }
  }
}

// `synchronous = FULL`: a finished save survives a loss of power.
const SETUP = `
  PRAGMA busy_timeout = 5000;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS checkpoints (
    id TEXT PRIMARY KEY, revision INTEGER NOT NULL, saved_at INTEGER NOT NULL, checkpoint TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS checkpoints_saved_at ON checkpoints (saved_at);
  PRAGMA busy_timeout = 0; -- Methods wait with timers.
`

function open(path: string) {
  if (typeof path !== 'string') throw new ConfigError('path', 'must be the path of a file, or :memory:')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    setUpFile(database)
    database.exec(SETUP)
    return {
      database,
      select: database.prepare('SELECT revision, checkpoint FROM checkpoints WHERE id = ?'),
      insert: database.prepare(
        'INSERT INTO checkpoints (revision, saved_at, checkpoint, id) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
      ),
      update: database.prepare(
        'UPDATE checkpoints SET revision = ?, saved_at = ?, checkpoint = ? WHERE id = ? AND revision = ?',
      ),
      remove: database.prepare('DELETE FROM checkpoints WHERE id = ?'),
      prune: database.prepare('DELETE FROM checkpoints WHERE saved_at < ?'),
    }
  } catch (cause) {
    database?.close()
    throw new CheckpointStoreError('open', '', `the database ${path} cannot be opened`, { cause })
  }
}

/** Returns the id as text that is unique in SQLite: half a surrogate pair would become U+FFFD in UTF-8. */
function keyOf(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

const [SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB] = [5, 11, 26]

/** Gives a new file the mode 600, which SQLite also gives its other files, and switches to write-ahead logging: a write is one sync, and no reader waits. */
export function setUpFile(database: { exec(sql: string): void; prepare(sql: string): { get(): unknown } }): void {
  const main = database.prepare('PRAGMA database_list').get()
  // Empty for a database in memory.
  const file = isRecord(main) && typeof main.file === 'string' ? main.file : ''
  if (file && statSync(file).size === 0) chmodSync(file, 0o600)
  try {
    database.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    // Two connections that switch at the same time would block each other. This one gives up: the other switches, or the next that opens the file.
    if (codeOf(error) !== SQLITE_BUSY) throw error
  }
}

function readable<Row>(id: string, read: () => Row): Row {
  try {
    return read()
  } catch (cause) {
    if (![SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(cause))) throw cause
    throw new CheckpointCorruptError(id, 'the database is damaged', { cause })
  }
}

/** Returns the primary code of SQLite's error; 0 for any other error. */
function codeOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}
