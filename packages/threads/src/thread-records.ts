/** Creates and reads the stored records of threads and turns. */

import { LeaseLostError, ThreadDeletedError } from './thread-errors.ts'
import type { StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** The times from which a decision computes a lease. */
export interface Claim {
  /** The current time, in milliseconds since the epoch. */
  readonly now: number
  /** How long a lease lasts, in milliseconds. */
  readonly lease: number
}

/** The right of one process to write for a turn. A takeover raises the epoch, so that the former owner can no longer write. */
export interface Owner {
  readonly thread: string
  readonly turn: string
  readonly epoch: number
}

/** What a process has to do for a turn that it has claimed. `seq`: the number of the thread's last event at that time. */
export type Work = { readonly turn: TurnRecord; readonly seq: number } & (
  | { readonly kind: 'begin'; readonly cause?: undefined }
  /** Continue the run from its checkpoint. If it has none, start it. */
  | { readonly kind: 'resume'; readonly cause: 'answer' | 'recovery' | 'retry' }
  /** Close the run. `cause`: its process has died, and may have emitted events that are no longer valid. */
  | { readonly kind: 'close'; readonly cause?: 'recovery' }
)

/** Returns the records of a thread that does not exist yet. */
export function newThread(id: string, tag: string, now: number): StoredThread {
  const thread = { id, tag, createdAt: now, updatedAt: now, seq: 0, turns: 0, historyAt: 0, isPaused: false }
  return { thread: { ...thread, isDeleted: false }, turns: [] }
}

/** Returns the turn that runs or waits for an answer. */
export function activeTurn({ turns }: Pick<StoredThread, 'turns'>): TurnRecord | undefined {
  return turns.find(({ status }) => status === 'running' || status === 'waiting')
}

/** A turn that has begun. A turn whose message has joined another turn never begins. */
export type BegunTurn = TurnRecord & { readonly startSeq: number }

/** Returns the turns that have begun, in the order of their messages. */
export function begunTurns(turns: readonly TurnRecord[]): readonly BegunTurn[] {
  return turns.filter(hasBegun).sort((a, b) => a.startSeq - b.startSeq)
}

/** Returns the newest turn that has begun. */
export function newestTurn(turns: readonly TurnRecord[]): TurnRecord | undefined {
  let newest: BegunTurn | undefined
  for (const turn of turns) if (hasBegun(turn) && turn.startSeq > (newest?.startSeq ?? 0)) newest = turn
  return newest
}

/** Whether the turn has begun. */
export function hasBegun(turn: TurnRecord): turn is BegunTurn {
  return turn.startSeq !== undefined && turn.status !== 'joined'
}

/** Returns the thread. Throws {@link ThreadDeletedError} if it was deleted. */
export function notDeleted(stored: StoredThread): StoredThread {
  if (stored.thread.isDeleted) throw new ThreadDeletedError(stored.thread.id)
  return stored
}

/** Returns the turn as running in this process, with a new lease. */
export function claimTurn(turn: TurnRecord, { now, lease }: Claim): TurnRecord {
  return { ...turn, status: 'running', epoch: turn.epoch + 1, leaseUntil: now + lease }
}

/** Returns the turn that this owner has claimed. Throws {@link LeaseLostError} if another process has taken it over. */
export function ownTurn({ turns }: StoredThread, { thread, turn, epoch }: Owner): TurnRecord {
  const own = turns.find(({ id }) => id === turn)
  if (own?.status !== 'running' || own.epoch !== epoch) throw new LeaseLostError(thread)
  return own
}

/** Returns the thread with the current time as `updatedAt`. */
export function touch(thread: ThreadRecord, { now }: Claim): ThreadRecord {
  return { ...thread, updatedAt: now }
}
