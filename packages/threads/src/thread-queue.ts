/** The queue of a thread: which turn begins next, and how queued turns are dropped. */

import { activeTurn, type Claim, claimed, type Work } from './thread-records.ts'
import type { Change, StoredEvent, StoredThread, TurnRecord } from './thread-store.ts'

/** Returns the queued turns, the next one first. */
export function queueOf({ turns }: Pick<StoredThread, 'turns'>): readonly TurnRecord[] {
  const queued = turns.filter(({ status }) => status === 'queued')
  return [...queued.filter(({ isFirst }) => isFirst), ...queued.filter(({ isFirst }) => !isFirst)]
}

/** The first turn of the queue begins, unless another turn is active or the queue is paused. */
export function begun(stored: StoredThread, claim: Claim): Change<Work | undefined> {
  const [next] = queueOf(stored)
  const { thread } = stored
  if (!next?.message || thread.isPaused || activeTurn(stored)) return { thread, result: undefined }
  const seq = thread.seq + 1
  const { message, isFirst: _, isSteering: __, ...rest } = next
  const turn = claimed({ ...rest, startSeq: seq, historyAt: thread.historyAt }, claim)
  const event: StoredEvent = {
    seq,
    turn: turn.id,
    isKept: true,
    event: { type: 'turn-start', message, messageId: turn.messageId },
  }
  // Earlier turns that failed can no longer be retried.
  const failed = stored.turns.filter(({ status }) => status === 'failed')
  return {
    thread: { ...thread, seq, updatedAt: claim.now },
    turns: [turn],
    events: [event],
    forgotten: failed.map(({ id }) => id),
    result: { kind: 'begin', turn, seq },
  }
}

/** Drops a queued turn. If its message should join the running turn, it may have joined already: then it is only marked. */
export function dropped(turn: TurnRecord, isTurnRunning: boolean): TurnRecord {
  return isTurnRunning && turn.isSteering ? { ...turn, isDropped: true } : { ...turn, status: 'dropped' }
}

/** The turn that the message should have joined has ended without it: the message waits in the queue, unless it was dropped. */
export function notJoined({ isSteering: _, isDropped, ...turn }: TurnRecord): TurnRecord {
  return isDropped ? dropped(turn, false) : turn
}
