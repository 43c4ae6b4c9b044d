/**
 * Writes the changes of the process that runs a turn in one round trip each. The process decides on the records that it knows, and a function of the
 * schema writes the change only if no other change was made since.
 */

import { randomUUID } from 'node:crypto'
import { CheckpointConflictError } from '@meanwhile/core'
import { isConnectionLost, type PostgresRow, postgresCode, postgresKey } from '@meanwhile/stores/postgres'
import { checkpointText } from '../stored-checkpoint.ts'
import type { Change, ChangeOptions, StoredThread, ThreadRecord, TurnRecord } from '../thread-store.ts'
import { storedAfter, type TurnRow, turnRows } from './shared.ts'
import {
  type Answer,
  CALL,
  CONFLICT,
  OTHER_ISOLATION,
  type RareParts,
  valuesOf,
  type WriteParameters,
} from './write-function.ts'

type Decide<Result> = (stored: StoredThread | undefined, now: number) => Change<Result>

/** Makes a change of an owner. Resolves to undefined if another transaction has the lock of the thread. */
type Attempt<Result> = () => Promise<{ readonly result: Result } | undefined>

interface OwnerWritesOptions {
  /** The quoted name of the schema. */
  readonly name: string
  /** Runs one statement, without retries. */
  readonly query: (text: string, values: unknown[]) => Promise<readonly PostgresRow[]>
  /** Returns the key of the lock of a thread. */
  readonly lockOf: (id: string) => string
}

/** What a process has seen of a thread. */
interface Known {
  /** The id of the last change. */
  readonly change: unknown
  readonly stored: StoredThread | undefined
  /** The time of the server, in milliseconds since the epoch, and that of this process when it received it. */
  readonly now: number
  readonly receivedAt: number
}

/** A change that was sent. It may have been made until the server has answered. */
interface Sent<Result> {
  readonly before: unknown
  readonly own: string
  readonly change: Change<Result>
}

/** The server cannot make the change in one round trip: it has to be made in a transaction. */
export class NoOwnerWriteError extends Error {}

export class OwnerWrites {
  readonly #options: OwnerWritesOptions
  /** The threads whose turns run in this process. */
  readonly #known = new Map<string, Known>()
  /** By the clock of `performance`. */
  #unusableUntil = 0

  constructor(options: OwnerWritesOptions) {
    this.#options = options
  }

  /**
   * Returns a function that makes the change once, however often it is called. It throws a {@link NoOwnerWriteError} before it has written anything if the
   * change needs a transaction. Call it again if the connection was lost.
   */
  attempts<Result>(id: string, decide: Decide<Result>, options: ChangeOptions): Attempt<Result> {
    let known = this.#known.get(id)
    /** The changes whose answer was lost, the newest first. The server may make one as long as no other change was made. */
    const lost: Sent<Result>[] = []
    return async () => {
      let sent: Sent<Result> | undefined
      try {
        if (lost.length > 0) known = undefined
        for (;;) {
          const isFresh = known === undefined
          known ??= await this.#look(id, options)
          if (!known) return undefined
          for (const one of lost)
            if (await this.#isMade(id, one, known)) return this.#made(id, known, one.change.result)
          const change = this.#decided(known, decide, isFresh)
          if (!change) {
            known = undefined
            continue
          }
          sent = { before: known.change, own: randomUUID(), change }
          const answer = await this.#write(id, known, sent, options)
          sent = undefined
          if (!answer) return undefined
          known = answer.known
          if (answer.isWritten) return this.#made(id, known, change.result)
        }
      } catch (error) {
        this.#known.delete(id)
        // After any other error the server has answered: nothing was written.
        if (sent && isConnectionLost(error)) lost.unshift(sent)
        throw error
      }
    }
  }

  /** Returns undefined if `decide` throws and the records were not read just now: they may be old. */
  #decided<Result>(known: Known, decide: Decide<Result>, isFresh: boolean): Change<Result> | undefined {
    try {
      const change = decide(known.stored, timeIn(known))
      if (!known.stored || change.deletesAll || change.supersededFrom !== undefined) throw new NoOwnerWriteError()
      return change
    } catch (error) {
      if (isFresh) throw error
      return undefined
    }
  }

  #made<Result>(id: string, known: Known, result: Result): { readonly result: Result } {
    // The records of threads without a turn that runs here are not kept.
    const isRunning = known.stored?.turns.some(({ status, leaseUntil }) => status === 'running' && leaseUntil > 0)
    if (isRunning) this.#known.set(id, known)
    else this.#known.delete(id)
    return { result }
  }

  /** Reads the thread with its lock: no change that was sent before is still being made. Undefined: another transaction has the lock. */
  async #look(id: string, { turn }: ChangeOptions): Promise<Known | undefined> {
    const answer = await this.#call({
      thread_key: postgresKey(id),
      lock_key: this.#options.lockOf(id),
      named_turn: keyOf(turn),
    })
    return answer && knownIn(answer)
  }

  /** Writes the change unless the thread was changed since: then it returns the thread as it is now. Undefined: another transaction has the lock. */
  async #write<Result>(
    id: string,
    known: Known,
    { before, own, change }: Sent<Result>,
    { turn, mayBeLost = false }: ChangeOptions,
  ): Promise<{ readonly isWritten: boolean; readonly known: Known } | undefined> {
    const { thread, events = [], retracted = [], deletedCheckpoints = [], droppedThrough, checkpoint: saved } = change
    const rows = turnRows(known.stored, change)
    const rare: RareParts = {
      ...(rows.length > 0 && { turns: rows.map(columnsOf) }),
      ...(droppedThrough !== undefined && { dropped: droppedThrough }),
      ...(retracted.length > 0 && { retracted }),
      ...(saved && {
        checkpoint: { key: postgresKey(saved.id), revision: saved.checkpoint.revision, before: saved.expected },
      }),
      ...(deletedCheckpoints.length > 0 && { deleted: deletedCheckpoints.map(postgresKey) }),
    }
    const answer = await this.#call({
      thread_key: postgresKey(id),
      lock_key: this.#options.lockOf(id),
      named_turn: keyOf(turn),
      known_change: before,
      own_change: own,
      may_be_lost: mayBeLost,
      new_state: thread && (thread.isDeleted ? 2 : thread.isPaused ? 1 : 0),
      new_record: thread && JSON.stringify(thread),
      ...(events.length > 0 && {
        event_seqs: events.map(({ seq }) => seq),
        event_turns: events.map((one) => JSON.stringify(one.turn)),
        events_kept: events.map(({ isKept = false }) => isKept),
        event_texts: events.map(({ event }) => JSON.stringify(event)),
      }),
      checkpoint_text: saved && checkpointText(saved),
      rare: Object.keys(rare).length > 0 ? rare : undefined,
    }).catch((error: unknown) => {
      if (saved && postgresCode(error) === CONFLICT && error instanceof Error)
        throw new CheckpointConflictError(
          saved.id,
          saved.expected,
          error.message === 'none' ? undefined : Number(error.message),
        )
      throw error
    })
    if (!answer) return undefined
    const found = knownIn(answer)
    if (!answer.isWritten) return { isWritten: false, known: found }
    const stored = known.stored && storedAfter(known.stored, change, turn)
    return { isWritten: true, known: { ...found, change: own, stored } }
  }

  /** Whether the change was made. If other changes were made since, what it wrote tells that: each event has its own number, and each save its own id. */
  async #isMade<Result>(id: string, { before, own, change }: Sent<Result>, known: Known): Promise<boolean> {
    if (known.change === own) return true
    if (known.change === before) return false
    const { name, query } = this.#options
    const { events = [], droppedThrough = 0, checkpoint, turns = [] } = change
    const event = events.findLast(({ seq, isKept }) => isKept || seq > droppedThrough)
    if (event) {
      const text = `SELECT 1 FROM ${name}.thread_events WHERE thread = $1 AND seq = $2 AND turn = $3`
      return (await query(text, [postgresKey(id), event.seq, JSON.stringify(event.turn)])).length > 0
    }
    if (checkpoint) {
      const text = `SELECT 1 FROM ${name}.checkpoints WHERE key = $1 AND save = $2`
      return (await query(text, [postgresKey(checkpoint.id), own])).length > 0
    }
    // Anything else may be written again.
    const stored = new Set(known.stored?.turns.map((turn) => JSON.stringify(turn)))
    return turns.length > 0 && turns.every((turn) => stored.has(JSON.stringify(turn)))
  }

  /** Undefined: another transaction has the lock. */
  async #call(parameters: WriteParameters): Promise<Answer | undefined> {
    const { name, query } = this.#options
    if (performance.now() < this.#unusableUntil) throw new NoOwnerWriteError()
    try {
      const [row] = await query(`SELECT ${name}.${CALL} AS answer`, valuesOf(parameters))
      return typeof row?.answer === 'string' ? (JSON.parse(row.answer) as Answer) : undefined
    } catch (error) {
      if (!UNUSABLE.includes(postgresCode(error))) throw error
      this.#unusableUntil = performance.now() + UNUSABLE_TIME
      throw new NoOwnerWriteError()
    }
  }
}

/**
 * The SQLSTATEs if the function does not exist, may not be called, or refuses the isolation of the transaction. If the user may not use a table, the
 * transaction has the same error.
 */
const UNUSABLE = ['42883', '42501', OTHER_ISOLATION]

/** For this time, in milliseconds, an unusable function is not called again: a pool closes a connection whose statement has failed. */
const UNUSABLE_TIME = 60_000

function knownIn({ change, thread, turns, now }: Answer): Known {
  const stored = typeof thread === 'string' && {
    thread: JSON.parse(thread) as ThreadRecord,
    turns: (turns ?? []).map((text) => JSON.parse(text) as TurnRecord),
  }
  return { change, stored: stored || undefined, now, receivedAt: performance.now() }
}

/** Returns the time of the server. If this process was suspended, it may be too early, and then leases are too short. */
function timeIn({ now, receivedAt }: Known): number {
  return Math.floor(now + performance.now() - receivedAt)
}

function keyOf(id: string | undefined): string | undefined {
  return id === undefined ? undefined : postgresKey(id)
}

function columnsOf({ turn, lease }: TurnRow) {
  const { id, number, status, messageId, startSeq = null } = turn
  const record = JSON.stringify(turn)
  return { key: postgresKey(id), number, status, message: postgresKey(messageId), start: startSeq, lease, record }
}
