/** The statements of the store of threads in PostgreSQL. */

import { readOnPrimary } from '@meanwhile/stores/postgres'
import { NOT_CLOSING, PAUSED } from './shared.ts'

/** The time of the server, in milliseconds since the epoch. */
export const NOW: string = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Only changes that may be lost, such as deltas, do not wait for the disk. */
export const synced = (mayBeLost: string): string => `set_config('synchronous_commit', CASE WHEN ${mayBeLost} THEN 'off'
  ELSE replace(current_setting('synchronous_commit'), 'off', 'on') END, true)`

interface Keys {
  readonly thread: string
  readonly turn: string
  readonly message: string
}

/** Selects a thread and its turns. Each part has an index, so the cost does not grow with the number of turns. */
export function foundIn(name: string, { thread, turn, message }: Keys): string {
  const turns = `${name}.turns`
  const ofThread = `thread = ${thread} AND NOT superseded`
  return `SELECT record, change, NULL AS number, NULL AS lease FROM ${name}.threads WHERE key = ${thread}
    UNION ALL SELECT record, NULL, number, lease FROM (
      SELECT record, number, lease FROM ${turns} WHERE ${ofThread} AND status IN ('queued', 'running', 'waiting')
      UNION SELECT record, number, lease FROM ${turns} WHERE ${ofThread} AND key = ${turn}
      UNION SELECT record, number, lease FROM ${turns} WHERE ${ofThread} AND message = ${message}
      UNION (
        SELECT record, number, lease FROM ${turns} WHERE ${ofThread} AND status <> 'joined' AND start IS NOT NULL
        ORDER BY start DESC LIMIT 1
      )
    ) AS found ORDER BY number NULLS FIRST`
}

/** Returns the statements of the store for a schema. `name`: its quoted name. */
export function statementsIn(name: string) {
  const [threads, turns, events] = [`${name}.threads`, `${name}.turns`, `${name}.thread_events`]
  const checkpoints = `${name}.checkpoints`
  const onPrimary = readOnPrimary(threads, '')
  return {
    lock: `SELECT pg_try_advisory_xact_lock($1::bigint) AS locked, ${NOW} AS now, ${synced('$2')}`,
    found: `${onPrimary}${foundIn(name, { thread: '$1', turn: '$2', message: '$3' })}`,
    turns: `${onPrimary}SELECT record, lease FROM ${turns} WHERE thread = $1 AND NOT superseded ORDER BY number`,
    putThread: `INSERT INTO ${threads} (key, state, record, change) VALUES ($1, $2, $3, $4)
      ON CONFLICT (key) DO UPDATE SET state = $2, record = $3, change = $4`,
    noteChange: `UPDATE ${threads} SET change = $2 WHERE key = $1`,
    putTurn: `INSERT INTO ${turns} (key, thread, number, status, message, start, lease, record)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (key) DO UPDATE SET status = $4, start = $6, lease = $7, record = $8`,
    // A turn whose row is locked is left out: nothing waits in the database for a thread.
    renewLeases: `WITH own AS (
        SELECT key FROM ${turns} JOIN unnest($1::text[], $2::bigint[]) AS known (turn, until) ON key = turn AND lease = until
        WHERE status = 'running' AND NOT superseded AND ${NOT_CLOSING} FOR NO KEY UPDATE OF turns SKIP LOCKED
      ) UPDATE ${turns} AS renewed SET lease = ${NOW} + $3 FROM own WHERE renewed.key = own.key
      RETURNING renewed.key, renewed.lease`,
    supersedeTurns: `UPDATE ${turns} SET superseded = true WHERE thread = $1 AND start >= $2`,
    events: `${onPrimary}SELECT seq, turn, kept, event FROM ${events} WHERE thread = $1 AND seq > $2 AND NOT superseded
      AND ($3::text IS NULL OR turn = $3) AND (kept OR NOT $4) ORDER BY seq LIMIT $5`,
    putEvents: `INSERT INTO ${events} (thread, seq, turn, kept, event)
      SELECT $1::text, * FROM unnest($2::bigint[], $3::text[], $4::boolean[], $5::text[])`,
    drop: `DELETE FROM ${events} WHERE thread = $1 AND NOT kept AND seq <= $2`,
    retract: `UPDATE ${events} SET superseded = true WHERE thread = $1 AND seq = ANY($2::bigint[])`,
    supersedeEvents: `UPDATE ${events} SET superseded = true WHERE thread = $1 AND seq >= $2`,
    list: `${onPrimary}SELECT record FROM ${threads} WHERE state < 2 ORDER BY number DESC LIMIT $1`,
    listAfter: `${onPrimary}SELECT record FROM ${threads} WHERE state < 2 AND number < (SELECT number FROM ${threads} WHERE key = $2)
      ORDER BY number DESC LIMIT $1`,
    // It begins with the open turns, and looks up each of their threads: other plans read all threads.
    due: `${onPrimary}SELECT (SELECT record FROM ${threads} WHERE key = due.thread) AS record FROM (
        (SELECT thread FROM ${turns} WHERE status = 'running' AND lease < $1 AND NOT superseded LIMIT $2)
        UNION ALL (
          SELECT DISTINCT thread FROM ${turns} AS queued WHERE status = 'queued' AND lease < ${PAUSED} AND NOT superseded
            AND (SELECT state FROM ${threads} WHERE key = queued.thread) = 0
            AND NOT EXISTS (
              SELECT 1 FROM ${turns} WHERE thread = queued.thread AND NOT superseded AND status IN ('running', 'waiting')
            ) LIMIT $2
        )
      ) AS due LIMIT $2`,
    checkpoint: `${onPrimary}SELECT revision, checkpoint FROM ${checkpoints} WHERE key = $1`,
    insertCheckpoint: `INSERT INTO ${checkpoints} (key, revision, save, saved_at, checkpoint)
      VALUES ($1, $2, $3, clock_timestamp(), $4) ON CONFLICT (key) DO NOTHING RETURNING 1`,
    updateCheckpoint: `UPDATE ${checkpoints} SET revision = $2, save = $3, saved_at = clock_timestamp(), checkpoint = $4
      WHERE key = $1 AND revision = $5 RETURNING 1`,
    deleteCheckpoints: `DELETE FROM ${checkpoints} WHERE key = ANY($1::text[])`,
    now: `${onPrimary}SELECT ${NOW} AS now`,
    forgetSuperseded: `DELETE FROM ${checkpoints} WHERE key IN (SELECT key FROM ${turns} WHERE thread = $1 AND start >= $2)`,
    eraseCheckpoints: `DELETE FROM ${checkpoints} WHERE key IN (SELECT key FROM ${turns} WHERE thread = $1)`,
    eraseTurns: `DELETE FROM ${turns} WHERE thread = $1`,
    eraseEvents: `DELETE FROM ${events} WHERE thread = $1`,
  }
}
