/** The queue of a thread: which turn begins next, and how queued turns are dropped. */

import { activeTurn, type Claim, claimTurn, type Work } from './thread-records.ts'
import type { Change, StoredEvent, StoredThread, TurnRecord } from './thread-store.ts'

/** Returns the queued turns, the next one first. */
export function queueOf({ turns }: Pick<StoredThread, 'turns'>): readonly TurnRecord[] {
  const queued = turns.filter(({ status }) => status === 'queued')
  return [...queued.filter(({ isFirst }) => isFirst), ...queued.filter(({ isFirst }) => !isFirst)]
}

/** Begins the first turn of the queue, unless another turn is active or the queue is paused. */
export function beginNext(stored: StoredThread, claim: Claim): Change<Work | undefined> {
  const [next] = queueOf(stored)
  const { thread } = stored
  if (!next?.message || thread.isPaused || activeTurn(stored)) return { result: undefined }
  const seq = thread.seq + 1
  const { message, display, isFirst: _, isSteering: __, ...rest } = next
  const turn = claimTurn({ ...rest, startSeq: seq, historyAt: thread.historyAt }, claim)
  const event: StoredEvent = {
    seq,
    turn: turn.id,
    isKept: true,
    event: { type: 'turn-start', message, messageId: turn.messageId, ...(display !== undefined && { display }) },
  }
  // Only the newest turn can be retried, so the checkpoints of earlier failed turns are not needed. A rewind may make such a turn the newest again.
  const failed = stored.turns.filter(({ status }) => status === 'failed')
  return {
    thread: { ...thread, seq, updatedAt: claim.now },
    turns: [turn, ...failed.map((one) => ({ ...one, isFinal: true }))],
    events: [event],
    deletedCheckpoints: failed.map(({ id }) => id),
    result: { kind: 'begin', turn, seq },
  }
}

/** Drops a queued turn. A steering message may already be in the running turn: its turn is only marked, and dropped if the message has not joined. */
export function dropTurn(turn: TurnRecord, isTurnRunning: boolean): TurnRecord {
  return isTurnRunning && turn.isSteering ? { ...turn, isDropped: true } : { ...turn, status: 'dropped' }
}

/** Called for a steering message that has not joined the turn that ended. It becomes an ordinary message of the queue, unless it was dropped. */
export function requeue({ isSteering: _, isDropped, ...turn }: TurnRecord): TurnRecord {
  return isDropped ? dropTurn(turn, false) : turn
}
