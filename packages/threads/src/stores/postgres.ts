/** Stores threads in a PostgreSQL database, for processes on many machines. */

import { createHash, randomUUID } from 'node:crypto'
import { CheckpointConflictError, ConfigError } from '@meanwhile/core'
import {
  isConnectionLost,
  openPostgres,
  type PostgresClient,
  type PostgresOptions,
  type PostgresRow,
  postgresKey,
  postgresStore,
} from '@meanwhile/stores/postgres'
import { checkpointText, loadedCheckpoint } from '../stored-checkpoint.ts'
import { ThreadError } from '../thread-errors.ts'
import type {
  Change,
  ChangeOptions,
  EventQuery,
  LoadOptions,
  SavedCheckpoint,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
} from '../thread-store.ts'
import { NoOwnerWriteError, OwnerWrites } from './owner-writes.ts'
import { statementsIn } from './postgres-statements.ts'
import { turnIn, turnRows } from './shared.ts'
import { threadLocks } from './thread-locks.ts'

/** The part of a connection pool that the store uses. A `Pool` of `pg` has it. */
export interface PostgresThreadsPool extends PostgresClient {
  connect(): Promise<PostgresConnection>
}

interface PostgresConnection extends PostgresClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  /** `isLost`: the connection is closed and not used again. */
  release(isLost?: boolean): void
}

/** If this process freezes in the middle of a change, the server closes its connection, which frees the thread. */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '5s'`

const UNKNOWN =
  'the connection was lost during a commit, and another process has changed the thread since. Whether the change was made is not known'

/** A change that was written and may have been committed: its connection was lost before the server confirmed the commit. */
interface Uncertain<Result> {
  /** The id of the thread's previous change. */
  readonly before: unknown
  /** The id of this change. */
  readonly own: string
  readonly result: Result
}

export type PostgresThreadsOptions = PostgresOptions<PostgresThreadsPool>

/**
 * Stores threads in tables that {@link setUpPostgresThreads} creates, and the checkpoints of their runs in the same schema, as `postgresStore` does.
 * Checkpoints, and the changes that begin or end a turn, are on the server's disk when their method resolves. The newest deltas may be lost if the
 * server crashes. If the connection is lost during a change, or leads to a server that has become a standby, the change is made again unless it had been
 * committed.
 *
 * Each method throws a `CheckpointStoreError` if the database or its tables do not exist, or if the tables are of another version.
 * @throws {ConfigError} The pool has no `query` or no `connect`, the schema is not a valid name, or `retries` is not a whole number from 0.
 */
export function postgresThreads(options: PostgresThreadsOptions): ThreadStore {
  const { name, query, byKey, once, again } = openPostgres(options, 'setUpPostgresThreads')
  const { pool } = options
  if (typeof pool.connect !== 'function')
    throw new ConfigError('pool', 'must have a method connect, as a Pool of pg has')
  const sql = statementsIn(name)
  const whenFree = threadLocks()
  const ownerWrites = new OwnerWrites({ name, query: once, lockOf })

  /** Makes a change exactly once. */
  async function change<Result>(
    id: string,
    decide: (stored: StoredThread | undefined, now: number) => Change<Result>,
    options: ChangeOptions = {},
  ): Promise<Result> {
    if (!options.isOwner) return await changeInTransaction(id, decide, options)
    try {
      const attempt = ownerWrites.attempts(id, decide, options)
      return await whenFree(id, () => again(attempt))
    } catch (error) {
      if (!(error instanceof NoOwnerWriteError)) throw error
      return await changeInTransaction(id, decide, options)
    }
  }

  /** Makes a change. If it needs another connection, it makes the change again, unless that was committed. */
  function changeInTransaction<Result>(
    id: string,
    decide: (stored: StoredThread | undefined, now: number) => Change<Result>,
    options: ChangeOptions = {},
  ): Promise<Result> {
    let uncertain: Uncertain<Result> | undefined
    const attempt = () =>
      inTransaction(id, options, async (connection, { change: before, stored, now }) => {
        if (uncertain && uncertain.own === before) return uncertain.result
        if (uncertain && uncertain.before !== before) throw new ThreadError(id, UNKNOWN)
        const change = decide(stored, now)
        const own = randomUUID()
        await write(connection, id, stored, change, own)
        uncertain = { before, own, result: change.result }
        return change.result
      })
    return whenFree(id, () => again(attempt))
  }

  /** Runs the work in a transaction with the lock of the thread. Returns undefined if another transaction has the lock. */
  async function inTransaction<Result>(
    id: string,
    { mayBeLost = false, ...named }: ChangeOptions,
    work: (connection: PostgresConnection, found: Found) => Promise<Result>,
  ): Promise<{ readonly result: Result } | undefined> {
    const connection = await pool.connect()
    let isLost = false
    // The running query also rejects. Without a listener for `error` the process would exit.
    const lose = () => {
      isLost = true
    }
    connection.on('error', lose)
    try {
      await connection.query(BEGIN)
      // Each statement sees what was committed before it, so the lock must come before the read.
      const { rows: locks } = await connection.query(sql.lock, [lockOf(id), mayBeLost])
      if (locks[0]?.locked !== true) {
        await connection.query('ROLLBACK')
        return undefined
      }
      const { rows } = await connection.query(sql.found, foundBy(id, named))
      const found = { change: rows[0]?.change, stored: storedIn(rows), now: Number(locks[0].now) }
      const result = await work(connection, found)
      await connection.query('COMMIT')
      return { result }
    } catch (error) {
      if (isConnectionLost(error)) lose()
      else await connection.query('ROLLBACK').catch(lose)
      throw error
    } finally {
      connection.off('error', lose)
      connection.release(isLost)
    }
  }

  async function write(
    connection: PostgresConnection,
    id: string,
    stored: StoredThread | undefined,
    change: Change<unknown>,
    own: string,
  ): Promise<void> {
    const key = postgresKey(id)
    const { thread, events = [], retracted = [], deletedCheckpoints = [] } = change
    const { checkpoint, droppedThrough, supersededFrom } = change
    if (supersededFrom !== undefined) {
      const supersedes = [sql.supersedeEvents, sql.forgetSuperseded, sql.supersedeTurns]
      for (const statement of supersedes) await connection.query(statement, [key, supersededFrom])
    }
    if (thread) {
      const state = thread.isDeleted ? 2 : thread.isPaused ? 1 : 0
      await connection.query(sql.putThread, [key, state, JSON.stringify(thread), own])
    } else await connection.query(sql.noteChange, [key, own])
    for (const { turn, lease } of turnRows(stored, change)) {
      const { id, number, status, messageId, startSeq = null } = turn
      const keys = [postgresKey(id), key, number, status, postgresKey(messageId)]
      await connection.query(sql.putTurn, [...keys, startSeq, lease, JSON.stringify(turn)])
    }
    if (events.length > 0) {
      const columns = [
        events.map(({ seq }) => seq),
        events.map(({ turn }) => JSON.stringify(turn)),
        events.map(({ isKept = false }) => isKept),
        events.map(({ event }) => JSON.stringify(event)),
      ]
      await connection.query(sql.putEvents, [key, ...columns])
    }
    if (droppedThrough !== undefined) await connection.query(sql.drop, [key, droppedThrough])
    if (retracted.length > 0) await connection.query(sql.retract, [key, [...retracted]])
    if (checkpoint) await saveCheckpoint(connection, checkpoint, own)
    if (deletedCheckpoints.length > 0)
      await connection.query(sql.deleteCheckpoints, [deletedCheckpoints.map(postgresKey)])
    if (change.deletesAll) {
      for (const erase of [sql.eraseCheckpoints, sql.eraseTurns, sql.eraseEvents]) await connection.query(erase, [key])
    }
  }

  async function saveCheckpoint(connection: PostgresConnection, saved: SavedCheckpoint, own: string): Promise<void> {
    const { id, checkpoint, expected } = saved
    const row = [postgresKey(id), checkpoint.revision, own, checkpointText(saved)]
    const { rows } = await (expected === 0
      ? connection.query(sql.insertCheckpoint, row)
      : connection.query(sql.updateCheckpoint, [...row, expected]))
    if (rows.length > 0) return
    const { rows: found } = await connection.query(sql.checkpoint, [postgresKey(id)])
    throw new CheckpointConflictError(id, expected, found[0] && Number(found[0].revision))
  }

  async function loadCheckpoint(id: string): Promise<unknown> {
    const read = async () => {
      const [row] = await byKey(sql.checkpoint, [postgresKey(id)])
      return row && String(row.checkpoint)
    }
    return await loadedCheckpoint(id, read, events)
  }

  async function events(
    id: string,
    { after = 0, turn, keptOnly = false, limit }: EventQuery = {},
  ): Promise<readonly StoredEvent[]> {
    const of = turn === undefined ? null : JSON.stringify(turn)
    const rows = await byKey(sql.events, [postgresKey(id), after, of, keptOnly, limit ?? null])
    return rows.map(eventIn)
  }

  return {
    checkpoints: { ...postgresStore(options), load: loadCheckpoint },
    async load(id, options = {}) {
      return storedIn(await byKey(sql.found, foundBy(id, options)))
    },
    change,
    events,
    async turns(id) {
      return (await byKey(sql.turns, [postgresKey(id)])).map(({ record, lease }) => turnIn(record, lease))
    },
    async list({ after, limit }) {
      const rows = await (after === undefined
        ? query(sql.list, [limit])
        : query(sql.listAfter, [limit, postgresKey(after)]))
      return rows.map((row) => recordIn<ThreadRecord>(row))
    },
    async renewLeases(turns, lease) {
      const keys = turns.map(({ turn }) => postgresKey(turn))
      const rows = await query(sql.renewLeases, [keys, turns.map(({ leaseUntil }) => leaseUntil), lease])
      const renewed = new Map(rows.map((row) => [row.key, Number(row.lease)]))
      return new Map(
        turns.flatMap(({ turn }, index) => {
          const until = renewed.get(keys[index])
          return until === undefined ? [] : [[turn, until] as const]
        }),
      )
    },
    async due(now, limit) {
      return (await query(sql.due, [now, limit])).map((row) => recordIn<ThreadRecord>(row).id)
    },
    async now() {
      return Number((await query(sql.now))[0]?.now)
    },
  }
}

/** Returns the key of the thread's lock, 64 bits. Two threads with the same key only wait for each other. */
function lockOf(id: string): string {
  return createHash('sha256').update(JSON.stringify(id)).digest().readBigInt64BE().toString()
}

function foundBy(id: string, { turn, messageId }: LoadOptions): unknown[] {
  return [postgresKey(id), ...[turn, messageId].map((one) => (one === undefined ? null : postgresKey(one)))]
}

interface Found {
  /** The id of the last change. */
  readonly change: unknown
  readonly stored: StoredThread | undefined
  /** The time of the server, in milliseconds since the epoch. */
  readonly now: number
}

function storedIn([thread, ...turns]: readonly PostgresRow[]): StoredThread | undefined {
  if (!thread?.change) return undefined
  return { thread: recordIn<ThreadRecord>(thread), turns: turns.map(({ record, lease }) => turnIn(record, lease)) }
}

function recordIn<Value>({ record }: PostgresRow): Value {
  return JSON.parse(String(record)) as Value
}

function eventIn({ seq, turn, kept, event }: PostgresRow): StoredEvent {
  return {
    seq: Number(seq),
    turn: JSON.parse(String(turn)),
    ...(kept === true && { isKept: true }),
    event: JSON.parse(String(event)) as StoredEvent['event'],
  }
}
