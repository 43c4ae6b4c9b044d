/** Opens a schema of a PostgreSQL database, for the packages that have tables in it. */

import { createHash } from 'node:crypto'
import { CheckpointStoreError, ConfigError } from '@meanwhile/core'
import { type PostgresClient, type PostgresRow, postgresCode } from './postgres-client.ts'
import { type PreparedStatement, preparedStatements, type RunStatement } from './prepared-statements.ts'

/** The options of `postgresStore`. */
export interface PostgresOptions<Client extends PostgresClient = PostgresClient> {
  /** Runs the statements. The store never closes it. A `Pool` of `pg` needs a listener for `error`, or a lost idle connection ends the process. */
  readonly pool: Client
  /** The schema of the tables: letters, digits and underscores. Default `meanwhile`. */
  readonly schema?: string
  /**
   * Runs a statement under its name; with `pg` this is `(statement) => pool.query(statement)`. Then PostgreSQL parses and plans the most frequent statements
   * once in a connection, which saves it a quarter of its CPU time. When a pooler has lost a name, `pool` runs all statements. Default: it always does.
   */
  readonly prepared?: (statement: PreparedStatement) => Promise<{ readonly rows: readonly PostgresRow[] }>
  /** How often a statement is retried after a lost connection. The first wait is 50 ms, and each further wait is twice as long. Default 7, which is 6 s. */
  readonly retries?: number
}

/** A schema, for packages that have their own tables next to the checkpoints. */
export interface PostgresSchema {
  /** The quoted name of the schema. */
  readonly name: string
  /** Runs one statement and returns its rows. Retries it if the connection was lost or leads to a standby. */
  query: RunStatement
  /** The same for a statement that finds its rows by key. It may be prepared, because one plan is the best for all values. */
  byKey: RunStatement
  /** Like `byKey`, without retries. */
  once: RunStatement
  /** Runs an action and retries it if its connection was lost or leads to a standby. */
  again<Result>(act: () => Promise<Result>): Promise<Result>
  /** Runs these statements unless a table, an index or a function has this name. Any number of processes may do this at the same time. */
  setUp(last: string, statements: string): Promise<void>
}

/**
 * Opens a schema, which may not exist yet. If the database is not set up, the error is a {@link CheckpointStoreError} that names the function to
 * call, `setUp`.
 * @throws {ConfigError} The pool has no `query`, the schema is not a valid name, `prepared` is not a function, or `retries` is not an integer of at least 0.
 */
export function openPostgres({ pool, schema, prepared, retries = 7 }: PostgresOptions, setUp: string): PostgresSchema {
  const name = quotedSchema(schema)
  if (typeof pool?.query !== 'function') throw new ConfigError('pool', 'must have a query method, like a Pool of pg')
  if (prepared !== undefined && typeof prepared !== 'function') throw new ConfigError('prepared', 'must be a function')
  if (!Number.isSafeInteger(retries) || retries < 0) throw new ConfigError('retries', 'must be an integer from 0')

  async function again<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let lost = 0, readOnly = 0; ; ) {
      try {
        return await act()
      } catch (error) {
        // Each try closes one connection to a former primary, and a pool may have many: 16 tries of 50 ms for each retry.
        const isReadOnly = postgresCode(error) === '25006'
        const isOver = isReadOnly ? readOnly++ >= 16 * retries : lost++ >= retries
        if (isOver || !isConnectionLost(error)) throw explained(error, name, setUp)
        await new Promise((resolve) => setTimeout(resolve, isReadOnly ? 50 : 25 * 2 ** lost))
      }
    }
  }

  const unnamed: RunStatement = async (text, values) => (await pool.query(text, values)).rows
  const once = prepared ? preparedStatements(prepared, unnamed) : unnamed
  const query: RunStatement = (text, values) => again(() => unnamed(text, values))

  return {
    name,
    query,
    byKey: (text, values) => again(() => once(text, values)),
    once,
    again,
    async setUp(last, statements) {
      // The lock is needed because `IF NOT EXISTS` fails if two processes create a table at the same time.
      await query(
        `DO $setup$ BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('@meanwhile'));
          IF to_regclass('${name}.${last}') IS NULL AND to_regproc('${name}.${last}') IS NULL THEN ${statements} END IF;
        END $setup$`,
      )
    },
  }
}

/**
 * Returns the statements of `setUpPostgres` as text, for your own migration tool.
 * @throws {ConfigError} The schema is not a valid name.
 */
export function postgresSchema(schema?: string): string {
  const name = quotedSchema(schema)
  return `CREATE SCHEMA IF NOT EXISTS ${name};
CREATE TABLE IF NOT EXISTS ${name}.checkpoints (
  key text COLLATE "C" PRIMARY KEY, -- the id; one that is too long for an index ends in its SHA-256
  revision bigint NOT NULL,
  save uuid NOT NULL, -- another one for each save
  saved_at timestamptz NOT NULL, -- by the clock of the database
  checkpoint text NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS checkpoints_saved_at ON ${name}.checkpoints (saved_at);`
}

const NAME = /^[a-z_]\w{0,62}$/i

/**
 * Returns the quoted name of a schema for use in statements.
 * @throws {ConfigError} It is not a valid name of a schema.
 */
export function quotedSchema(schema = 'meanwhile'): string {
  if (typeof schema !== 'string' || !NAME.test(schema))
    throw new ConfigError('schema', 'must be a name of at most 63 letters, digits and underscores, with no digit first')
  return `"${schema}"`
}

const LONGEST_KEY = 255

/** Returns the id as text that PostgreSQL can store and index: JSON escapes NUL and halves of surrogate pairs. A long id ends with its SHA-256. */
export function postgresKey(id: string): string {
  const text = JSON.stringify(id).slice(1, -1)
  if (text.length <= LONGEST_KEY) return text
  return `${text.slice(0, LONGEST_KEY)}~${createHash('sha256').update(text).digest('hex')}`
}

/** Returns a `SELECT` that a standby refuses with SQLSTATE 25006, as it refuses writes: a former primary has old rows. `table`: any of the schema. */
export function readOnPrimary(table: string, select: string): string {
  return `WITH writable AS (DELETE FROM ${table} WHERE false) ${select}`
}

/** 25P03: the server has closed a connection whose transaction was idle for too long. */
const LOST =
  /^(08...|57P0.|25P03|25006|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/

/** Whether another connection is needed: this one was lost, and the statement may have run; or it leads to a read-only server. */
export function isConnectionLost(error: unknown): boolean {
  return (
    LOST.test(postgresCode(error)) || (error instanceof Error && /connection (terminated|error)/i.test(error.message))
  )
}

/** Converts PostgreSQL's errors about a missing set-up to an error that tells the user what to do. */
function explained(cause: unknown, schema: string, setUp: string): unknown {
  if (!(cause instanceof Error)) return cause
  const missing = `${cause.message}: call ${setUp} first`
  const other = `${cause.message}: the tables of schema ${schema} were made by another version or another program`
  const faults: Readonly<Record<string, string>> = {
    '3D000': cause.message,
    '3F000': missing,
    '42P01': missing,
    '42501': `${cause.message}: the database user lacks the permission`,
    '42703': other,
    '42804': other,
  }
  const fault = faults[postgresCode(cause)]
  return fault === undefined ? cause : new CheckpointStoreError('open', '', fault, { cause })
}
