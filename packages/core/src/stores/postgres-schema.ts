/** A schema of a PostgreSQL database: what packages that keep tables in it share. */

import { createHash } from 'node:crypto'
import { CheckpointStoreError } from '../vocabulary/checkpoint-errors.ts'
import { ConfigError } from '../vocabulary/errors.ts'

export interface PostgresRow {
  readonly [column: string]: unknown
}

/** What is needed of a PostgreSQL client: a `Pool`, `Client` or `PoolClient` of `pg` has it. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>
}

export interface PostgresOptions<Client extends PostgresClient = PostgresClient> {
  /**
   * Runs the statements, and is never closed. Listen to the `error` event of a `Pool` of `pg`: without a listener an idle connection that is lost ends
   * the process.
   */
  readonly pool: Client
  /** The schema of the tables: letters, digits and underscores. Default `meanwhile`. */
  readonly schema?: string
  /** How often a statement is sent again when its connection was lost: after 50 ms, then each time after twice as long. Default 3. */
  readonly retries?: number
}

/** For packages that keep tables of their own beside the checkpoints. */
export interface PostgresSchema {
  /** The name of the schema, in quotes. */
  readonly name: string
  /** Runs one statement, and runs it again if its connection was lost. Returns its rows. */
  query(text: string, values?: unknown[]): Promise<readonly PostgresRow[]>
  /** Does what may lose its connection, and does it again then. */
  again<Result>(act: () => Promise<Result>): Promise<Result>
  /** Runs these statements unless the table exists. Any number of processes may do so at once. */
  setUp(table: string, statements: string): Promise<void>
}

/**
 * A schema, whether it exists or not. What it throws of a database that is not set up is a {@link CheckpointStoreError} that names the
 * function to call, `setUp`.
 * @throws {ConfigError} The pool has no `query`, the schema is no name, or `retries` is no whole number from 0.
 */
export function openPostgres({ pool, schema, retries = 3 }: PostgresOptions, setUp: string): PostgresSchema {
  const name = quoted(schema)
  if (typeof pool?.query !== 'function') throw new ConfigError('pool', 'must have a query, as a Pool of pg has')
  if (!Number.isSafeInteger(retries) || retries < 0) throw new ConfigError('retries', 'must be a whole number from 0')

  async function again<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let retry = 0; ; retry++) {
      try {
        return await act()
      } catch (error) {
        if (retry === retries || !isConnectionLost(error)) throw explained(error, name, setUp)
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** retry))
    }
  }

  // No statement has a name: a pooler may give each another connection.
  const query = (text: string, values?: unknown[]) => again(async () => (await pool.query(text, values)).rows)

  return {
    name,
    query,
    again,
    async setUp(table, statements) {
      // Two that make a table at once would trip over each other, in spite of IF NOT EXISTS.
      await query(
        `DO $setup$ BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('@meanwhile'));
          IF to_regclass('${name}.${table}') IS NULL THEN ${statements} END IF;
        END $setup$`,
      )
    },
  }
}

const NAME = /^[a-z_]\w{0,62}$/i

/**
 * The name of a schema in quotes, as statements need it.
 * @throws {ConfigError} It is no name of a schema.
 */
export function quoted(schema = 'meanwhile'): string {
  if (typeof schema !== 'string' || !NAME.test(schema))
    throw new ConfigError('schema', 'must be a name of at most 63 letters, digits and underscores, with no digit first')
  return `"${schema}"`
}

const LONGEST_KEY = 255

/** The id as text that PostgreSQL can store and index: JSON escapes NUL and halves of surrogate pairs. A long one ends in its SHA-256. */
export function postgresKey(id: string): string {
  const text = JSON.stringify(id).slice(1, -1)
  if (text.length <= LONGEST_KEY) return text
  return `${text.slice(0, LONGEST_KEY)}~${createHash('sha256').update(text).digest('hex')}`
}

/** Whether the connection was lost, so that nobody knows whether the statement was carried out; or there was none. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    /^(08|57P0)|^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT)$/.test(codeOf(error)) ||
    /connection (terminated|error)/i.test(error.message)
  )
}

/** An error that says what to do, where PostgreSQL's is about the set-up. */
function explained(cause: unknown, schema: string, setUp: string): unknown {
  if (!(cause instanceof Error)) return cause
  const missing = `${cause.message}: call ${setUp} first`
  const other = `${cause.message}: the tables of schema ${schema} were made by another version, or by somebody else`
  const faults: Readonly<Record<string, string>> = {
    '3D000': cause.message,
    '3F000': missing,
    '42P01': missing,
    '42501': `${cause.message}: the user of the database needs the right to it`,
    '42703': other,
    '42804': other,
  }
  const fault = faults[codeOf(cause)]
  return fault === undefined ? cause : new CheckpointStoreError('open', '', fault, { cause })
}

/** The SQLSTATE of PostgreSQL's error, or the code of Node's; empty if there is none. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}
