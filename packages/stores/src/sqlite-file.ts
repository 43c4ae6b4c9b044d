/** Opens a SQLite file, for the packages that have tables in it. */

import { chmodSync, statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { CheckpointStoreError, ConfigError } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'

/** A file, and its prepared statements by name. */
export interface SqliteFile<Name extends string> {
  readonly database: DatabaseSync
  readonly sql: Readonly<Record<Name, StatementSync>>
}

/**
 * Opens a database, and creates it with the mode 600 if it does not exist. A finished write is on the disk: `synchronous` is `FULL`. `tables`: creates the
 * tables that are missing.
 * @throws {ConfigError} The path is not a string.
 * @throws {CheckpointStoreError} The file cannot be opened, or is not a database; `cause` is SQLite's error.
 */
export function openSqlite<Name extends string>(
  path: string,
  tables: string,
  statements: Readonly<Record<Name, string>>,
): SqliteFile<Name> {
  if (typeof path !== 'string') throw new ConfigError('path', 'must be the path of a file, or :memory:')
  let database: DatabaseSync | undefined
  try {
    const opened = new DatabaseSync(path)
    database = opened
    setUpFile(opened)
    // Later statements wait with timers.
    opened.exec(`PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; ${tables}; PRAGMA busy_timeout = 0;`)
    const prepared = Object.entries<string>(statements).map(([name, text]) => [name, opened.prepare(text)])
    return { database, sql: Object.fromEntries(prepared) as Record<Name, StatementSync> }
  } catch (cause) {
    database?.close()
    throw new CheckpointStoreError('open', '', `the database ${path} cannot be opened`, { cause })
  }
}

/** Runs the work, again after pauses while another process has the lock of the database, for 5 s. Throws {@link CheckpointStoreError} then. */
export async function whenUnlocked<Row>(operation: 'load' | 'save', id: string, work: () => Row): Promise<Row> {
  for (const begun = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    try {
      return work()
    } catch (cause) {
      if (sqliteCode(cause) !== SQLITE_BUSY) throw cause
      if (performance.now() - begun > 5_000)
        throw new CheckpointStoreError(operation, id, 'another process has locked the database for 5 s', { cause })
    }
  }
}

/** Returns the id as text that is unique in SQLite: half a surrogate pair would become U+FFFD in UTF-8. */
export function sqliteKey(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

/** Returns the primary code of SQLite's error; 0 for any other error. */
export function sqliteCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

const SQLITE_BUSY = 5

/** Gives a new file the mode 600, which SQLite also gives its other files, and switches to write-ahead logging: a write is one sync, and no reader waits. */
function setUpFile(database: DatabaseSync): void {
  const main = database.prepare('PRAGMA database_list').get()
  // Empty for a database in memory.
  const file = isRecord(main) && typeof main.file === 'string' ? main.file : ''
  if (file && statSync(file).size === 0) chmodSync(file, 0o600)
  try {
    database.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    // Two connections that switch at the same time would block each other. This one gives up: the other switches, or the next that opens the file.
    if (sqliteCode(error) !== SQLITE_BUSY) throw error
  }
}
