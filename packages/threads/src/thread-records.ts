/** Records of threads and turns: how they are made, and what follows from them. */

import { LeaseLostError, ThreadDeletedError } from './thread-errors.ts'
import type { StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** What a decision needs to know of the process that makes it. Both in milliseconds. */
export interface Claim {
  readonly now: number
  readonly lease: number
}

/** Somebody who works on a turn. */
export interface Owner {
  readonly thread: string
  readonly turn: string
  readonly epoch: number
}

/** What is to be done for a turn that has been claimed. `seq`: the number of the last event before it. */
export type Work = { readonly turn: TurnRecord; readonly seq: number } & (
  | { readonly kind: 'begin'; readonly cause?: undefined }
  /** Its run goes on from its checkpoint; if there is none it begins. */
  | { readonly kind: 'resume'; readonly cause: 'answer' | 'recovery' | 'retry' }
  /** Its run is closed. `cause`: its process is gone, and may have told what counts no more. */
  | { readonly kind: 'close'; readonly cause?: 'recovery' }
)

export function newThread(id: string, tag: string, now: number): StoredThread {
  const thread = { id, tag, createdAt: now, updatedAt: now, seq: 0, turns: 0, historyAt: 0, isPaused: false }
  return { thread: { ...thread, isDeleted: false }, turns: [] }
}

/** The turn that runs or waits. */
export function activeTurn({ turns }: Pick<StoredThread, 'turns'>): TurnRecord | undefined {
  return turns.find(({ status }) => status === 'running' || status === 'waiting')
}

/** A turn that has begun, now or before. One that has joined another turn never begins. */
export type BegunTurn = TurnRecord & { readonly startSeq: number }

/** The turns that have begun, in the order of their messages. */
export function begunTurns(turns: readonly TurnRecord[]): readonly BegunTurn[] {
  return turns.filter(hasBegun).sort((a, b) => a.startSeq - b.startSeq)
}

/** The newest of the turns that have begun. */
export function newestTurn(turns: readonly TurnRecord[]): TurnRecord | undefined {
  let newest: BegunTurn | undefined
  for (const turn of turns) if (hasBegun(turn) && turn.startSeq > (newest?.startSeq ?? 0)) newest = turn
  return newest
}

export function hasBegun(turn: TurnRecord): turn is BegunTurn {
  return turn.startSeq !== undefined && turn.status !== 'joined'
}

/** The thread, unless it was deleted. Throws {@link ThreadDeletedError}. */
export function alive(stored: StoredThread): StoredThread {
  if (stored.thread.isDeleted) throw new ThreadDeletedError(stored.thread.id)
  return stored
}

/** The turn belongs to the process that decides this, for the time of a lease. */
export function claimed(turn: TurnRecord, { now, lease }: Claim): TurnRecord {
  return { ...turn, status: 'running', epoch: turn.epoch + 1, leaseUntil: now + lease }
}

/** The turn of whoever writes. Throws {@link LeaseLostError} if somebody else has it by now. */
export function ownTurn({ turns }: StoredThread, { thread, turn, epoch }: Owner): TurnRecord {
  const own = turns.find(({ id }) => id === turn)
  if (own?.status !== 'running' || own.epoch !== epoch) throw new LeaseLostError(thread)
  return own
}

export function touched(thread: ThreadRecord, { now }: Claim): ThreadRecord {
  return { ...thread, updatedAt: now }
}
