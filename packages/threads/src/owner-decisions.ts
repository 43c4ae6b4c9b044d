/** The decisions of the process that runs a turn, its owner. Each is a pure function: it takes the stored records and returns the change to write. */

import type { Json, PendingInterrupt, ToolMessage, Usage } from '@meanwhile/core'
import type { EndStatus, ErrorInfo, ThreadEventBody } from './thread-events.ts'
import { beginNext, queueOf, requeue } from './thread-queue.ts'
import { activeTurn, type Claim, claimTurn, type Owner, ownTurn, type Work } from './thread-records.ts'
import type { Change, StoredEvent, StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/**
 * A process that takes over a turn skips this many numbers after the last stored event. Readers may have received events of the lost process that
 * were not stored: no other event may have the same numbers.
 */
const GAP = 2 ** 20

/** What the owner writes while the turn runs. */
export interface Progress {
  readonly events: readonly StoredEvent[]
  readonly droppedThrough?: number
  readonly retracted?: readonly number[]
  readonly checkpoint?: NonNullable<Change<unknown>['checkpoint']>
  /** Turns whose messages have joined this one, with the `seq` of the message. */
  readonly joined?: readonly { readonly turn: string; readonly seq: number }[]
}

/** The requests of users that the owner reads from the store with each write. */
export interface TurnRequests {
  /** Whether the turn should stop. */
  readonly isStopping: boolean
  /** The turns whose messages should join the running turn. */
  readonly steering: readonly TurnRecord[]
  /** When the lease of the turn ends. */
  readonly leaseUntil: number
}

/** Writes the progress of a turn and renews its lease. */
export function saveProgress(
  stored: StoredThread,
  owner: Owner,
  progress: Progress,
  claim: Claim,
): Change<TurnRequests> {
  const turn = ownTurn(stored, owner)
  const { joined = [], droppedThrough = 0 } = progress
  // A write whose outcome was unknown may have stored events already. No other process gives numbers to events of this thread.
  const events = progress.events.filter(({ seq }) => seq > stored.thread.seq)
  const replaced = events.findLast(({ event }) => event.type === 'history-replaced' && !('path' in event))
  const steering = queueOf(stored).filter(({ isSteering }) => isSteering)
  const joins = steering.flatMap((one): TurnRecord[] => {
    const seq = joined.find(({ turn }) => turn === one.id)?.seq
    if (seq === undefined) return []
    const { message: _, display: __, isSteering: ___, isDropped: ____, ...rest } = one
    return [{ ...rest, status: 'joined', joined: owner.turn, startSeq: seq }]
  })
  // The lease is renewed when a third of it has passed, not with every batch. It is too long if the clock was set back.
  const left = turn.leaseUntil - claim.now
  const isFresh = left > (claim.lease * 2) / 3 && left <= claim.lease
  const leaseUntil = isFresh ? turn.leaseUntil : claim.now + claim.lease
  const held = isFresh ? [] : [{ ...turn, leaseUntil }]
  const { joined: _, ...written } = progress
  return {
    ...written,
    events,
    thread: {
      ...stored.thread,
      seq: Math.max(stored.thread.seq, events.at(-1)?.seq ?? 0, droppedThrough),
      historyAt: replaced?.seq ?? historyAtWithout(progress.retracted, stored.thread, turn),
    },
    turns: [...held, ...joins],
    result: {
      isStopping: turn.closing !== undefined,
      steering: steering.filter(({ id, isDropped }) => !isDropped && joins.every((one) => one.id !== id)),
      leaseUntil,
    },
  }
}

/** Returns where the history begins after these events were retracted: they may contain the one that had replaced it. */
function historyAtWithout(retracted: readonly number[] = [], thread: ThreadRecord, turn: TurnRecord): number {
  return retracted.includes(thread.historyAt) ? (turn.historyAt ?? 0) : thread.historyAt
}

/** How a turn has ended, or the questions that it waits for. */
export type Outcome =
  | {
      readonly status: 'waiting'
      readonly interrupts: readonly PendingInterrupt[]
      readonly settled: readonly ToolMessage[]
    }
  | {
      readonly status: Exclude<EndStatus, 'dropped'>
      readonly error?: ErrorInfo
      readonly text?: string
      readonly output?: Json
      readonly usage?: Usage
    }

/** Ends the turn, or lets it wait for an answer. If it ends, the same change begins the next turn of the queue. */
export function endTurn(
  stored: StoredThread,
  owner: Owner,
  outcome: Outcome,
  progress: Progress,
  claim: Claim,
): Change<Work | undefined> {
  const before = saveProgress(stored, owner, progress, claim)
  const own = ownTurn(stored, owner)
  const joins = (before.turns ?? []).filter(({ id }) => id !== own.id)
  // The turn was stopped before readers could see its question.
  if (outcome.status === 'waiting' && own.closing !== undefined) {
    const turn = claimTurn(own, claim)
    return {
      ...before,
      turns: [turn, ...joins],
      result: { kind: 'close', turn, seq: before.thread?.seq ?? stored.thread.seq },
    }
  }
  const { closing: _, answers, interrupts, settled: __, ...turn } = own
  const { status, ...rest } = outcome
  // The run may have failed before it used the answers. A retry passes them again, so that the user is not asked twice.
  const unused = status === 'failed' && answers && { answers, ...(interrupts && { interrupts }) }
  const thread = { ...(before.thread ?? stored.thread), updatedAt: claim.now }
  const seq = thread.seq + 1
  const isEnd = status !== 'waiting'
  const body: ThreadEventBody = isEnd
    ? {
        type: 'turn-end',
        status,
        ...(outcome.error && { error: outcome.error }),
        ...(hasTokens(outcome.usage) && { usage: outcome.usage }),
      }
    : { type: 'turn-waiting', interrupts: outcome.interrupts, settled: outcome.settled }
  const event: StoredEvent = { seq, turn: turn.id, ...(isEnd && { isKept: true }), event: body }
  const finished: TurnRecord = { ...turn, ...unused, ...rest, status, leaseUntil: 0, endedAt: claim.now }
  const change = {
    ...before,
    thread: { ...thread, seq },
    turns: [finished, ...joins],
    events: [...(before.events ?? []), event],
    droppedThrough: thread.seq,
    deletedCheckpoints: status === 'completed' || status === 'stopped' ? [turn.id] : [],
  }
  if (!isEnd) return { ...change, result: undefined }
  const late = stored.turns.filter(({ id, isSteering }) => isSteering && joins.every((one) => one.id !== id))
  // A late message may begin the next turn, and the next turn makes a failed one final: each turn is written once, as it is in the end.
  const changed = new Map([...change.turns, ...late.map(requeue)].map((one) => [one.id, one]))
  const { result, ...next } = beginNext(
    { thread: change.thread, turns: stored.turns.map((one) => changed.get(one.id) ?? one) },
    claim,
  )
  for (const one of next.turns ?? []) changed.set(one.id, one)
  return {
    ...change,
    thread: next.thread ?? change.thread,
    turns: [...changed.values()],
    events: [...change.events, ...(next.events ?? [])],
    deletedCheckpoints: [...change.deletedCheckpoints, ...(next.deletedCheckpoints ?? [])],
    result,
  }
}

function hasTokens(usage: Usage | undefined): usage is Usage {
  return usage !== undefined && Object.keys(usage).length > 0
}

/** Gives up the turn: any process may take it over at once. */
export function releaseTurn(stored: StoredThread, owner: Owner): Change<undefined> {
  return { turns: [{ ...ownTurn(stored, owner), leaseUntil: 0 }], result: undefined }
}

/**
 * Takes over the running turn if its lease has expired. If no turn is active, begins the next turn of the queue. `live`: the turn of the thread that
 * runs in this process. It is not taken over: only its lease is renewed.
 */
export function recoverTurn(stored: StoredThread, claim: Claim, live?: TurnRecord): Change<Work | undefined> {
  const { thread } = stored
  const active = activeTurn(stored)
  if (thread.isDeleted || (active && (active.status === 'waiting' || active.leaseUntil >= claim.now)))
    return { result: undefined }
  if (!active) return beginNext(stored, claim)
  if (live?.id === active.id && live.epoch === active.epoch)
    return { turns: [{ ...active, leaseUntil: claim.now + claim.lease }], result: undefined }
  const turn = claimTurn(active, claim)
  const seq = thread.seq + GAP
  const kind = turn.closing === undefined ? 'resume' : 'close'
  return { thread: { ...thread, seq }, turns: [turn], result: { kind, turn, seq, cause: 'recovery' } }
}

/** Lets the turn wait for the same questions again, because its run has rejected the answers. */
export function reopenTurn(stored: StoredThread, owner: Owner): Change<undefined> {
  const { answers: _, ...turn } = ownTurn(stored, owner)
  return { turns: [{ ...turn, status: 'waiting', leaseUntil: 0 }], result: undefined }
}
