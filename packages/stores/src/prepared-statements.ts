/** Runs statements under names, as long as the server keeps the names. */

import { createHash } from 'node:crypto'
import { type PostgresRow, postgresCode } from './postgres-client.ts'

/** A statement that PostgreSQL parses and plans once in a connection, and then knows by its name. A `Client` and a `Pool` of `pg` run it. */
export interface PreparedStatement {
  /** The connection keeps the statement under this name. The same text has the same name. */
  readonly name: string
  /** The SQL, with `$1` and so on for the values. */
  readonly text: string
  /** The values of `$1`, `$2` and so on, in this order. */
  readonly values: unknown[]
}

/** Runs a statement and returns its rows. */
export type RunStatement = (text: string, values?: unknown[]) => Promise<readonly PostgresRow[]>

/**
 * Returns a function that runs statements with values under their names, until a name is lost: a pooler in transaction mode may run each statement on
 * another connection. From then on it calls `run`.
 */
export function preparedStatements(
  prepared: (statement: PreparedStatement) => Promise<{ readonly rows: readonly PostgresRow[] }>,
  run: RunStatement,
): RunStatement {
  let keepsNames = true
  return async (text, values) => {
    if (!keepsNames || !values) return await run(text, values)
    try {
      return (await prepared({ name: nameOf(text), text, values })).rows
    } catch (error) {
      if (!NAME_LOST.includes(postgresCode(error))) throw error
      keepsNames = false
      return await run(text, values)
    }
  }
}

/** SQLSTATEs: the connection does not know the name, or another client has given it to the connection. In both cases the statement has not run. */
const NAME_LOST = ['26000', '42P05']

/** Two schemas have different texts, and so have two versions of the package. */
function nameOf(text: string): string {
  return `meanwhile_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
}
