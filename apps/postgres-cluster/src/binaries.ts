/** Finds the programs of an installed PostgreSQL. */

import { accessSync, constants, globSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

export class NoPostgresError extends Error {
  override readonly name = 'NoPostgresError'
  constructor() {
    super(
      'This needs PostgreSQL\'s "initdb" and "pg_ctl", which were not found. Install them with "apt-get install -y postgresql" ' +
        '(Debian, Ubuntu) or "brew install postgresql" (macOS), or name their folder in PG_BIN.',
    )
  }
}

/** Debian and others install the programs outside the PATH, in a folder for each version. */
const FOLDERS = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/postgresql*/bin',
  '/usr/local/opt/postgresql*/bin',
]

/**
 * Returns the folder of `initdb` and `pg_ctl`: `PG_BIN` if it is set, else the first folder of the PATH that has them, else the newest installed
 * version.
 * @throws {NoPostgresError} PostgreSQL is not installed.
 */
export function findBinaries(): string {
  const { PG_BIN, PATH = '' } = process.env
  const installed = FOLDERS.flatMap((pattern) => globSync(pattern)).sort(newestFirst)
  const folders = PG_BIN ? [PG_BIN] : [...PATH.split(delimiter), ...installed]
  const found = folders.find((folder) => ['initdb', 'pg_ctl'].every((name) => isProgram(join(folder, name))))
  if (found === undefined) throw new NoPostgresError()
  // The PATH may have links to these two programs only.
  return dirname(realpathSync(join(found, 'initdb')))
}

const newestFirst = (a: string, b: string): number => b.localeCompare(a, 'en', { numeric: true })

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
