/** Stores checkpoints in a PostgreSQL database, for the processes of many machines. */

import { randomUUID } from 'node:crypto'
import { CheckpointConflictError, type CheckpointStore } from '@meanwhile/core'
import { readCheckpoint, writtenCheckpoint } from '@meanwhile/core/calls'
import { openPostgres, type PostgresOptions, postgresKey, postgresSchema, readOnPrimary } from './postgres-schema.ts'

export * from './postgres-client.ts'
export * from './postgres-schema.ts'
export type { PreparedStatement, RunStatement } from './prepared-statements.ts'

/**
 * Returns a store in the table `checkpoints` of the schema, which {@link setUpPostgres} creates. A save is one statement. When it resolves, it is on
 * the disk of the server, even if `synchronous_commit` is off. If several processes replace one revision, one of them succeeds. A statement is
 * retried after a lost connection and after a failover; if the lost save had succeeded, the retry is not a conflict.
 * Each method throws a `CheckpointStoreError` if the database or its table does not exist, or the table has another version.
 * @throws {ConfigError} The pool has no `query`, the schema is not a valid name, or `retries` is not an integer of at least 0.
 */
export function postgresStore(options: PostgresOptions): CheckpointStore {
  const { name, query, byKey } = openPostgres(options, 'setUpPostgres')
  const table = `${name}.checkpoints`
  return {
    async load(id) {
      const [row] = await byKey(readOnPrimary(table, `SELECT checkpoint FROM ${table} WHERE key = $1`), [
        postgresKey(id),
      ])
      return row && readCheckpoint(id, String(row.checkpoint))
    },
    async save(id, checkpoint, expected) {
      const text = writtenCheckpoint(checkpoint, expected)
      const row = [postgresKey(id), checkpoint.revision, randomUUID(), text]
      const [saved] =
        expected === 0 ? await byKey(insertInto(table), row) : await byKey(updateOf(table), [...row, expected])
      if (saved) return
      const [found] = await byKey(`SELECT revision FROM ${table} WHERE key = $1`, [postgresKey(id)])
      throw new CheckpointConflictError(id, expected, found && Number(found.revision))
    },
    async delete(id) {
      await byKey(`DELETE FROM ${table} WHERE key = $1`, [postgresKey(id)])
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
 * Creates the schema and the table unless they exist. Any number of processes may do this at the same time.
 * @throws {ConfigError} The pool has no `query`, or the schema is not a valid name.
 * @throws {CheckpointStoreError} The database does not exist, its user may not create tables, or the table has another version.
 */
export async function setUpPostgres(options: PostgresOptions): Promise<void> {
  const { name, query, setUp } = openPostgres(options, 'setUpPostgres')
  await setUp('checkpoints', postgresSchema(options.schema))
  await query(`SELECT key, revision, save, saved_at, checkpoint FROM ${name}.checkpoints LIMIT 0`)
}

/** Switches `synchronous_commit` on for this statement if it is off, so that a finished save survives a crash of the server. */
const SYNCED = `(SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END) AS synced`

// Both return a row if they have saved. A statement that is sent again finds the id of its own save in the row, and also returns it.
const insertInto = (
  table: string,
): string => `INSERT INTO ${table} AS stored (key, revision, save, saved_at, checkpoint)
  SELECT $1::text, $2::bigint, $3::uuid, clock_timestamp(), $4::text FROM ${SYNCED}
  ON CONFLICT (key) DO UPDATE SET saved_at = excluded.saved_at WHERE stored.save = excluded.save RETURNING 1`

const updateOf = (table: string): string => `UPDATE ${table}
  SET revision = $2::bigint, save = $3::uuid, saved_at = clock_timestamp(), checkpoint = $4::text FROM ${SYNCED}
  WHERE key = $1::text AND (revision = $5::bigint OR save = $3::uuid) RETURNING 1`
