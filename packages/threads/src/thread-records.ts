/** Creates and reads the stored records of threads and turns. */

import { LeaseLostError, ThreadDeletedError } from './thread-errors.ts'
import type { StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** The time, and how long a lease lasts: a decision needs both. In milliseconds. */
export interface Claim {
  readonly now: number
  readonly lease: number
}

/** The right of one process to write for a turn. A takeover raises the epoch, so that the former owner can no longer write. */
export interface Owner {
  readonly thread: string
  readonly turn: string
  readonly epoch: number
}

/** The work on a turn that a process has claimed. `seq`: the number of the last event before it. */
export type Work = { readonly turn: TurnRecord; readonly seq: number } & (
  | { readonly kind: 'begin'; readonly cause?: undefined }
  /** The run continues from its checkpoint; without one it begins. */
  | { readonly kind: 'resume'; readonly cause: 'answer' | 'recovery' | 'retry' }
  /** The run is closed. `cause`: its process has died, and may have emitted events that no longer count. */
  | { readonly kind: 'close'; readonly cause?: 'recovery' }
)

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

export function hasBegun(turn: TurnRecord): turn is BegunTurn {
  return turn.startSeq !== undefined && turn.status !== 'joined'
}

/** Returns the thread. Throws {@link ThreadDeletedError} if it was deleted. */
export function alive(stored: StoredThread): StoredThread {
  if (stored.thread.isDeleted) throw new ThreadDeletedError(stored.thread.id)
  return stored
}

/** Returns the turn as owned by this process for one lease. */
export function claimed(turn: TurnRecord, { now, lease }: Claim): TurnRecord {
  return { ...turn, status: 'running', epoch: turn.epoch + 1, leaseUntil: now + lease }
}

/** Returns the turn of this owner. Throws {@link LeaseLostError} if another process has taken it over. */
export function ownTurn({ turns }: StoredThread, { thread, turn, epoch }: Owner): TurnRecord {
  const own = turns.find(({ id }) => id === turn)
  if (own?.status !== 'running' || own.epoch !== epoch) throw new LeaseLostError(thread)
  return own
}

export function touched(thread: ThreadRecord, { now }: Claim): ThreadRecord {
  return { ...thread, updatedAt: now }
}
