/** The tables of threads in SQLite, and the statements on them. */

import { CHECKPOINT_TABLE, type CheckpointStatement, type SqliteFile } from '@meanwhile/stores/sqlite'
import { NOT_CLOSING, PAUSED } from './shared.ts'

/** Creates the tables that are missing. What is deleted is overwritten. */
export const TABLES: string = `
  PRAGMA secure_delete = ON;
  CREATE TABLE IF NOT EXISTS threads (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS threads_listed ON threads (number) WHERE state < 2;
  CREATE TABLE IF NOT EXISTS turns (
    id TEXT PRIMARY KEY, thread TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    start INTEGER, lease INTEGER NOT NULL, superseded INTEGER NOT NULL DEFAULT 0, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS turns_in_order ON turns (thread, number);
  CREATE INDEX IF NOT EXISTS turns_open ON turns (status, lease) WHERE status IN ('queued', 'running', 'waiting');
  CREATE INDEX IF NOT EXISTS turns_open_of_thread ON turns (thread)
    WHERE status IN ('queued', 'running', 'waiting') AND superseded = 0;
  CREATE INDEX IF NOT EXISTS turns_begun ON turns (thread, start)
    WHERE status <> 'joined' AND superseded = 0 AND start IS NOT NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS one_at_a_time ON turns (thread)
    WHERE status IN ('running', 'waiting') AND superseded = 0;
  CREATE UNIQUE INDEX IF NOT EXISTS one_per_message ON turns (thread, message) WHERE superseded = 0;
  CREATE TABLE IF NOT EXISTS thread_events (
    thread TEXT NOT NULL, seq INTEGER NOT NULL, turn TEXT NOT NULL, kept INTEGER NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0, event TEXT NOT NULL, PRIMARY KEY (thread, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS thread_events_open ON thread_events (thread, seq) WHERE kept = 0;
  ${CHECKPOINT_TABLE}
`

const IS_OPEN = `status IN ('queued', 'running', 'waiting')`

/** The statements of a store, by name, without those on checkpoints. */
export const STATEMENTS = {
  thread: 'SELECT record FROM threads WHERE id = ?',
  putThread: `INSERT INTO threads (id, state, record) VALUES (:id, :state, :record)
    ON CONFLICT (id) DO UPDATE SET state = :state, record = :record`,
  // Each part has an index, so the cost does not grow with the number of turns.
  found: `SELECT record, lease FROM turns WHERE id IN (
      SELECT id FROM turns WHERE thread = :thread AND superseded = 0 AND status IN ('queued', 'running', 'waiting')
      UNION SELECT id FROM turns WHERE thread = :thread AND superseded = 0 AND id = :turn
      UNION SELECT id FROM turns WHERE thread = :thread AND superseded = 0 AND message = :message
      UNION SELECT id FROM (
        SELECT id FROM turns WHERE thread = :thread AND superseded = 0 AND status <> 'joined' AND start IS NOT NULL
        ORDER BY start DESC LIMIT 1
      )
    ) ORDER BY number`,
  turns: 'SELECT record, lease FROM turns WHERE thread = ? AND superseded = 0 ORDER BY number',
  putTurn: `INSERT INTO turns (id, thread, number, status, message, start, lease, record)
    VALUES (:id, :thread, :number, :status, :message, :start, :lease, :record)
    ON CONFLICT (id) DO UPDATE SET status = :status, start = :start, lease = :lease, record = :record`,
  renewLease: `UPDATE turns SET lease = ?
    WHERE id = ? AND lease = ? AND status = 'running' AND superseded = 0 AND ${NOT_CLOSING}`,
  supersedeTurns: 'UPDATE turns SET superseded = 1 WHERE thread = ? AND start >= ?',
  events: `SELECT seq, turn, kept, event FROM thread_events WHERE thread = :thread AND seq > :after AND superseded = 0
    AND (:turn IS NULL OR turn = :turn) AND kept >= :kept ORDER BY seq LIMIT :limit`,
  putEvent: 'INSERT INTO thread_events (thread, seq, turn, kept, event) VALUES (?, ?, ?, ?, ?)',
  drop: 'DELETE FROM thread_events WHERE thread = ? AND kept = 0 AND seq <= ?',
  retract: 'UPDATE thread_events SET superseded = 1 WHERE thread = ? AND seq = ?',
  supersedeEvents: 'UPDATE thread_events SET superseded = 1 WHERE thread = ? AND seq >= ?',
  list: 'SELECT record FROM threads WHERE state < 2 ORDER BY number DESC LIMIT ?',
  listAfter: `SELECT record FROM threads WHERE state < 2 AND number < (SELECT number FROM threads WHERE id = ?)
    ORDER BY number DESC LIMIT ?`,
  // It begins with the open turns, because all turns may be many. SQLite uses their index only if its condition is repeated.
  due: `SELECT thread FROM turns INDEXED BY turns_open WHERE ${IS_OPEN} AND status = 'running' AND lease < :now AND superseded = 0
    UNION SELECT thread FROM turns AS due INDEXED BY turns_open
      WHERE ${IS_OPEN} AND status = 'queued' AND lease < ${PAUSED} AND superseded = 0
      AND (SELECT state FROM threads WHERE id = due.thread) = 0
      AND NOT EXISTS (
        SELECT 1 FROM turns WHERE thread = due.thread AND superseded = 0 AND status IN ('running', 'waiting')
      )
    LIMIT :limit`,
  forgetSuperseded: 'DELETE FROM checkpoints WHERE id IN (SELECT id FROM turns WHERE thread = ? AND start >= ?)',
  eraseCheckpoints: 'DELETE FROM checkpoints WHERE id IN (SELECT id FROM turns WHERE thread = ?)',
  eraseTurns: 'DELETE FROM turns WHERE thread = ?',
  eraseEvents: 'DELETE FROM thread_events WHERE thread = ?',
}

/** The statements, prepared. */
export type Statements = SqliteFile<keyof typeof STATEMENTS | CheckpointStatement>['sql']
