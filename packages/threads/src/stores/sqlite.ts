/** Stores threads in a SQLite database, for the processes of one machine. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { CheckpointStoreError } from '@meanwhile/core'
import { CHECKPOINT_STATEMENTS, openSqlite, sqliteKey, whenUnlocked, writeCheckpoint } from '@meanwhile/stores/sqlite'
import { checkpointText, loadedCheckpoint } from '../stored-checkpoint.ts'
import { ThreadError } from '../thread-errors.ts'
import type {
  Change,
  EventQuery,
  LeasedTurn,
  LoadOptions,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
} from '../thread-store.ts'
import { turnIn, turnRows } from './shared.ts'
import { STATEMENTS, type Statements, TABLES } from './sqlite-statements.ts'

/** Threads and checkpoints in one SQLite file. */
export interface SqliteThreads extends ThreadStore {
  /** Closes the database. Afterwards every method rejects. */
  close(): void
}

/**
 * Opens the database, and creates it with the mode 600 if it does not exist; `:memory:` is a new database that lives in this process. `node:sqlite` is
 * synchronous: a write blocks the event loop while it writes to the disk. While another process writes, a method tries again; after 5 s it rejects with a
 * `ThreadError` or `CheckpointStoreError`. Checkpoints, and the changes that begin or end a turn, are on the disk when their method resolves. The newest
 * deltas may be lost if the machine loses power. What is deleted is overwritten with zeros; while another process keeps on reading, the
 * write-ahead file may have it until a later write. While another process has the lock, changes that wait have no order.
 *
 * @throws {ConfigError} The path is not a string.
 * @throws {CheckpointStoreError} The file cannot be opened, or is not a database; `cause` is SQLite's error.
 */
export function sqliteThreads(path: string): SqliteThreads {
  const { database, sql } = openSqlite(path, TABLES, { ...CHECKPOINT_STATEMENTS, ...STATEMENTS })
  let isSynced = true

  function found(id: string, { turn = '', messageId = '' }: LoadOptions = {}): StoredThread | undefined {
    const row = sql.thread.get(sqliteKey(id))
    if (!row) return undefined
    const turns = sql.found.all({ thread: sqliteKey(id), turn: sqliteKey(turn), message: sqliteKey(messageId) })
    return { thread: parsed<ThreadRecord>(row.record), turns: turns.map(({ record, lease }) => turnIn(record, lease)) }
  }

  function writeChange(id: string, stored: StoredThread | undefined, change: Change<unknown>): void {
    const key = sqliteKey(id)
    const { thread, checkpoint, droppedThrough, supersededFrom } = change
    if (supersededFrom !== undefined) {
      sql.supersedeEvents.run(key, supersededFrom)
      sql.forgetSuperseded.run(key, supersededFrom)
      sql.supersedeTurns.run(key, supersededFrom)
    }
    if (thread) {
      const state = thread.isDeleted ? 2 : thread.isPaused ? 1 : 0
      sql.putThread.run({ id: key, state, record: JSON.stringify(thread) })
    }
    for (const { turn, lease } of turnRows(stored, change)) {
      sql.putTurn.run({
        id: sqliteKey(turn.id),
        thread: key,
        number: turn.number,
        status: turn.status,
        message: sqliteKey(turn.messageId),
        start: turn.startSeq ?? null,
        lease,
        record: JSON.stringify(turn),
      })
    }
    for (const { seq, turn, isKept = false, event } of change.events ?? [])
      sql.putEvent.run(key, seq, sqliteKey(turn), isKept ? 1 : 0, JSON.stringify(event))
    if (droppedThrough !== undefined) sql.drop.run(key, droppedThrough)
    for (const seq of change.retracted ?? []) sql.retract.run(key, seq)
    if (checkpoint) {
      const { id, checkpoint: saved, expected } = checkpoint
      writeCheckpoint(sql, { id, revision: saved.revision, text: checkpointText(checkpoint), expected })
    }
    for (const run of change.deletedCheckpoints ?? []) sql.deleteCheckpoint.run(sqliteKey(run))
    if (change.deletesAll) for (const erase of [sql.eraseCheckpoints, sql.eraseTurns, sql.eraseEvents]) erase.run(key)
  }

  async function write<Result>(id: string, work: () => Result): Promise<Result> {
    try {
      return await whenUnlocked('save', '', work)
    } catch (error) {
      if (!(error instanceof CheckpointStoreError)) throw error
      throw new ThreadError(id, 'another process has locked the database for 5 s', { cause: error.cause })
    }
  }

  /** Runs the work in one transaction: either all of it is written, or nothing. */
  function atOnce<Result>(work: () => Result, mayBeLost = false): Result {
    sync(!mayBeLost)
    database.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      rollBack(database)
      throw error
    }
  }

  /** Sets whether writes wait for the disk. If they do not, a power loss may lose the newest writes, but never reorders them. */
  function sync(wanted: boolean): void {
    if (wanted === isSynced) return
    database.exec(`PRAGMA synchronous = ${wanted ? 'FULL' : 'NORMAL'}`)
    isSynced = wanted
  }

  /** Empties the write-ahead file, which still has the deleted text. After a second it stops trying, because another process keeps on reading. */
  async function emptyLog(): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      if (database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 1) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  function events(id: string, query: EventQuery = {}): Promise<readonly StoredEvent[]> {
    return whenUnlocked('load', '', () => eventsIn(sql, sqliteKey(id), query))
  }

  return {
    checkpoints: {
      load(id) {
        const read = async () => {
          const row = await whenUnlocked('load', id, () => sql.checkpoint.get(sqliteKey(id)))
          return row && String(row.checkpoint)
        }
        return loadedCheckpoint(id, read, events)
      },
      async save(id, checkpoint, expected) {
        const text = checkpointText({ checkpoint, expected })
        const save = () => writeCheckpoint(sql, { id, revision: checkpoint.revision, text, expected })
        await whenUnlocked('save', id, () => atOnce(save))
      },
      async delete(id) {
        await whenUnlocked('save', id, () => sql.deleteCheckpoint.run(sqliteKey(id)))
      },
      async prune({ olderThan }) {
        const { changes } = await whenUnlocked('save', '', () => sql.prune.run(Number(olderThan)))
        return Number(changes)
      },
    },
    load: (id, options) => whenUnlocked('load', '', () => found(id, options)),
    async change(id, decide, { mayBeLost = false, ...named } = {}) {
      const { result, deletesAll } = await write(id, () =>
        atOnce(() => {
          const stored = found(id, named)
          const change = decide(stored)
          writeChange(id, stored, change)
          return change
        }, mayBeLost),
      )
      if (deletesAll) await emptyLog()
      return result
    },
    events,
    turns: (id) =>
      whenUnlocked('load', '', () => sql.turns.all(sqliteKey(id)).map(({ record, lease }) => turnIn(record, lease))),
    async list({ after, limit }) {
      const rows = await whenUnlocked('load', '', () =>
        after === undefined ? sql.list.all(limit) : sql.listAfter.all(sqliteKey(after), limit),
      )
      return rows.map(({ record }) => parsed<ThreadRecord>(record))
    },
    async renewLeases(turns, lease) {
      const until = Date.now() + lease
      const renews = ({ turn, leaseUntil }: LeasedTurn) =>
        sql.renewLease.run(until, sqliteKey(turn), leaseUntil).changes === 1
      const renewed = await whenUnlocked('save', '', () => atOnce(() => turns.filter(renews), true))
      return new Map(renewed.map(({ turn }) => [turn, until]))
    },
    async due(now, limit) {
      const rows = await whenUnlocked('load', '', () => sql.due.all({ now, limit }))
      return rows.map(({ thread }) => JSON.parse(`"${String(thread)}"`))
    },
    close() {
      database.close()
    },
  }
}

function eventsIn(sql: Statements, key: string, query: EventQuery): readonly StoredEvent[] {
  const { after = 0, turn, keptOnly = false, limit = -1 } = query
  const rows = sql.events.all({
    thread: key,
    after,
    turn: turn === undefined ? null : sqliteKey(turn),
    kept: keptOnly ? 1 : 0,
    limit,
  })
  return rows.map(({ seq, turn, kept, event }) => ({
    seq: Number(seq),
    turn: JSON.parse(`"${String(turn)}"`),
    ...(kept === 1 && { isKept: true }),
    event: parsed<StoredEvent['event']>(event),
  }))
}

function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // SQLite has already rolled back, or no transaction had begun.
  }
}

function parsed<Value>(text: SQLOutputValue | undefined): Value {
  return JSON.parse(String(text)) as Value
}
