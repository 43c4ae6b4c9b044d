/** Checkpoints in a PostgreSQL database, for the processes of many machines. */

import { createHash, randomUUID } from 'node:crypto'
import { CheckpointConflictError, CheckpointStoreError } from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, readCheckpoint, writtenCheckpoint } from '../vocabulary/checkpoint-store.ts'
import { ConfigError } from '../vocabulary/errors.ts'

export interface PostgresRow {
  readonly [column: string]: unknown
}

/** What the store needs of a PostgreSQL client: a `Pool`, `Client` or `PoolClient` of `pg` has it. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>
}

export interface PostgresStoreOptions {
  /**
   * Runs the statements. The store never closes it. Listen to the `error` event of a `Pool` of `pg`: without a listener an idle connection that is
   * lost ends the process.
   */
  readonly pool: PostgresClient
  /** The schema of the table: letters, digits and underscores. Default `meanwhile`. */
  readonly schema?: string
  /** How often a statement is sent again when its connection was lost: after 50 ms, then each time after twice as long. Default 3. */
  readonly retries?: number
}

/**
 * Keeps checkpoints in the table `checkpoints` of the schema, which {@link setUpPostgres} makes. A save is one statement. When it resolves, the disk of the
 * server has it, even where `synchronous_commit` is off. Of several processes that save over one revision one wins. A statement whose connection
 * was lost is sent again. A save that had been carried out before its connection was lost is no conflict then.
 *
 * Each method throws a {@link CheckpointStoreError} if the database or its table does not exist, or the table is of another version.
 * @throws {ConfigError} The pool has no `query`, the schema is no name, or `retries` is no whole number from 0.
 */
export function postgresStore({ pool, schema, retries = 3 }: PostgresStoreOptions): CheckpointStore {
  const table = tableIn(schema)
  const query = queryOf(pool, table, retries)
  return {
    async load(id) {
      const [row] = await query(`SELECT checkpoint FROM ${table} WHERE key = $1`, [keyOf(id)])
      return row && readCheckpoint(id, String(row.checkpoint))
    },
    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      const row = [keyOf(id), checkpoint.revision, randomUUID(), text]
      const [saved] =
        expected === 0 ? await query(insertInto(table), row) : await query(updateOf(table), [...row, expected])
      if (saved) return
      const [found] = await query(`SELECT revision FROM ${table} WHERE key = $1`, [keyOf(id)])
      throw new CheckpointConflictError(id, expected, found && Number(found.revision))
    },
    async delete(id) {
      await query(`DELETE FROM ${table} WHERE key = $1`, [keyOf(id)])
    },
    async prune({ olderThan }) {
      const [row] = await query(
        `WITH pruned AS (DELETE FROM ${table} WHERE saved_at < to_timestamp($1::float8 / 1000) RETURNING 1)
        SELECT count(*) AS count FROM pruned`,
        [Number(olderThan)],
      )
      return Number(row?.count)
    },
  }
}

/**
 * Makes the schema and the table unless they are there. Any number of processes may do so at once.
 * @throws {ConfigError} The pool has no `query`, or the schema is no name.
 * @throws {CheckpointStoreError} There is no such database, its user may not make tables, or there is a table of another version.
 */
export async function setUpPostgres({ pool, schema }: Pick<PostgresStoreOptions, 'pool' | 'schema'>): Promise<void> {
  const table = tableIn(schema)
  const query = queryOf(pool, table, 3)
  // Two that make a table at once would trip over each other, in spite of IF NOT EXISTS.
  await query(
    `DO $setup$ BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('@meanwhile/core'));
      IF to_regclass('${table}') IS NULL THEN ${postgresSchema(schema)} END IF;
    END $setup$`,
  )
  await query(`SELECT key, revision, save, saved_at, checkpoint FROM ${table} LIMIT 0`)
}

/**
 * The statements of {@link setUpPostgres} as text, for those who migrate with a tool of their own.
 * @throws {ConfigError} The schema is no name.
 */
export function postgresSchema(schema?: string): string {
  const table = tableIn(schema)
  return `CREATE SCHEMA IF NOT EXISTS ${table.split('.')[0]};
CREATE TABLE IF NOT EXISTS ${table} (
  key text COLLATE "C" PRIMARY KEY, -- the id; one that is too long for an index ends in its SHA-256
  revision bigint NOT NULL,
  save uuid NOT NULL, -- another one for each save
  saved_at timestamptz NOT NULL, -- by the clock of the database
  checkpoint text NOT NULL -- JSON
);
CREATE INDEX IF NOT EXISTS checkpoints_saved_at ON ${table} (saved_at);`
}

/** On for this statement, where it is off: a save that has resolved outlives a crash of the server. */
const SYNCED = `(SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END) AS synced`

// Each returns a row if it has saved. If it is sent again it finds the id of this very save in the row, and returns it, too.
const insertInto = (
  table: string,
): string => `INSERT INTO ${table} AS stored (key, revision, save, saved_at, checkpoint)
  SELECT $1::text, $2::bigint, $3::uuid, clock_timestamp(), $4::text FROM ${SYNCED}
  ON CONFLICT (key) DO UPDATE SET saved_at = excluded.saved_at WHERE stored.save = excluded.save RETURNING 1`

const updateOf = (table: string): string => `UPDATE ${table}
  SET revision = $2::bigint, save = $3::uuid, saved_at = clock_timestamp(), checkpoint = $4::text FROM ${SYNCED}
  WHERE key = $1::text AND (revision = $5::bigint OR save = $3::uuid) RETURNING 1`

const NAME = /^[a-z_]\w{0,62}$/i

function tableIn(schema = 'meanwhile'): string {
  if (typeof schema !== 'string' || !NAME.test(schema))
    throw new ConfigError('schema', 'must be a name of at most 63 letters, digits and underscores, with no digit first')
  return `"${schema}".checkpoints`
}

const LONGEST_KEY = 255

/** The id as text that PostgreSQL can store and index: JSON escapes NUL and halves of surrogate pairs. */
function keyOf(id: string): string {
  const text = JSON.stringify(id).slice(1, -1)
  if (text.length <= LONGEST_KEY) return text
  return `${text.slice(0, LONGEST_KEY)}~${createHash('sha256').update(text).digest('hex')}`
}

type Query = (text: string, values?: unknown[]) => Promise<readonly PostgresRow[]>

function queryOf(pool: PostgresClient, table: string, retries: number): Query {
  if (typeof pool?.query !== 'function') throw new ConfigError('pool', 'must have a query, as a Pool of pg has')
  if (!Number.isSafeInteger(retries) || retries < 0) throw new ConfigError('retries', 'must be a whole number from 0')
  return async (text, values) => {
    for (let retry = 0; ; retry++) {
      try {
        // Without a name: a pooler may give each statement another connection.
        return (await pool.query(text, values)).rows
      } catch (error) {
        if (retry === retries || !isLost(error)) throw explained(table, error)
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** retry))
    }
  }
}

/** The connection was lost, so nobody knows whether the statement was carried out; or there was none. */
function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    /^(08|57P0)|^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT)$/.test(codeOf(error)) ||
    /connection (terminated|error)/i.test(error.message)
  )
}

/** An error that says what to do, where PostgreSQL's is about the set-up. */
function explained(table: string, cause: unknown): unknown {
  const faults: Readonly<Record<string, string>> = {
    '3D000': 'the database does not exist',
    '3F000': `there is no table ${table}: call setUpPostgres first`,
    '42P01': `there is no table ${table}: call setUpPostgres first`,
    '42501': `the user of the database may not make or use the table ${table}`,
    '42703': `the table ${table} was made by another version, or by somebody else: it lacks a column`,
    '42804': `the table ${table} was made by another version, or by somebody else: a column has another type`,
  }
  const fault = faults[codeOf(cause)]
  return fault === undefined ? cause : new CheckpointStoreError('open', '', fault, { cause })
}

/** The SQLSTATE of PostgreSQL's error, or the code of Node's; empty if there is none. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
