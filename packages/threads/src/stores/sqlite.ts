/** Stores threads in a SQLite database, for the processes of one machine. */

import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { CheckpointConflictError, CheckpointStoreError, ConfigError } from '@meanwhile/core'
import { setUpFile, whenUnlocked } from '@meanwhile/core/stores/sqlite'
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
import { SETUP, STATEMENTS, type Statements } from './sqlite-statements.ts'

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
  const { database, sql } = open(path)
  let isSynced = true

  function found(id: string, { turn = '', messageId = '' }: LoadOptions = {}): StoredThread | undefined {
    const row = sql.thread.get(keyOf(id))
    if (!row) return undefined
    const turns = sql.found.all({ thread: keyOf(id), turn: keyOf(turn), message: keyOf(messageId) })
    return { thread: parsed<ThreadRecord>(row.record), turns: turns.map(({ record, lease }) => turnIn(record, lease)) }
  }

  function saveCheckpoint(id: string, text: string, revision: number, expected: number): void {
    const row = [revision, Date.now(), text, keyOf(id)] as const
    const { changes } = expected === 0 ? sql.insertCheckpoint.run(...row) : sql.updateCheckpoint.run(...row, expected)
    if (changes === 1) return
    const stored = sql.checkpoint.get(keyOf(id))?.revision
    throw new CheckpointConflictError(id, expected, stored === undefined ? undefined : Number(stored))
  }

  function writeChange(id: string, stored: StoredThread | undefined, change: Change<unknown>): void {
    const key = keyOf(id)
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
        id: keyOf(turn.id),
        thread: key,
        number: turn.number,
        status: turn.status,
        message: keyOf(turn.messageId),
        start: turn.startSeq ?? null,
        lease,
        record: JSON.stringify(turn),
      })
    }
    for (const { seq, turn, isKept = false, event } of change.events ?? [])
      sql.putEvent.run(key, seq, keyOf(turn), isKept ? 1 : 0, JSON.stringify(event))
    if (droppedThrough !== undefined) sql.drop.run(key, droppedThrough)
    for (const seq of change.retracted ?? []) sql.retract.run(key, seq)
    if (checkpoint) {
      const { id, checkpoint: saved, expected } = checkpoint
      saveCheckpoint(id, checkpointText(checkpoint), saved.revision, expected)
    }
    for (const run of change.deletedCheckpoints ?? []) sql.deleteCheckpoint.run(keyOf(run))
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
    return whenUnlocked('load', '', () => eventsIn(sql, keyOf(id), query))
  }

  return {
    checkpoints: {
      load(id) {
        const read = async () => {
          const row = await whenUnlocked('load', id, () => sql.checkpoint.get(keyOf(id)))
          return row && String(row.checkpoint)
        }
        return loadedCheckpoint(id, read, events)
      },
      async save(id, checkpoint, expected) {
        const text = checkpointText({ checkpoint, expected })
        const save = () => saveCheckpoint(id, text, checkpoint.revision, expected)
        await whenUnlocked('save', id, () => atOnce(save))
      },
      async delete(id) {
        await whenUnlocked('save', id, () => sql.deleteCheckpoint.run(keyOf(id)))
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
      whenUnlocked('load', '', () => sql.turns.all(keyOf(id)).map(({ record, lease }) => turnIn(record, lease))),
    async list({ after, limit }) {
      const rows = await whenUnlocked('load', '', () =>
        after === undefined ? sql.list.all(limit) : sql.listAfter.all(keyOf(after), limit),
      )
      return rows.map(({ record }) => parsed<ThreadRecord>(record))
    },
    async renewLeases(turns, lease) {
      const until = Date.now() + lease
      const renews = ({ turn, leaseUntil }: LeasedTurn) =>
        sql.renewLease.run(until, keyOf(turn), leaseUntil).changes === 1
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
    turn: turn === undefined ? null : keyOf(turn),
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

function open(path: string): { readonly database: DatabaseSync; readonly sql: Statements } {
  if (typeof path !== 'string') throw new ConfigError('path', 'must be the path of a file, or :memory:')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    setUpFile(database)
    database.exec(SETUP)
    const prepare = ([name, text]: [string, string]) => [name, database?.prepare(text)]
    return { database, sql: Object.fromEntries(Object.entries(STATEMENTS).map(prepare)) as Statements }
  } catch (cause) {
    database?.close()
    throw new CheckpointStoreError('open', '', `the database ${path} cannot be opened`, { cause })
  }
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

/** Returns the id as text that is unique in UTF-8: without the escapes, every lone surrogate would become U+FFFD. */
function keyOf(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}
