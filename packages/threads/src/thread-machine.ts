/** What becomes of a thread: pure decisions over what is stored. Each returns what is to be written, and calls nobody. */

import type { Answers, Json, PendingInterrupt, ToolMessage, Usage, UserMessage } from '@meanwhile/core'
import { UnknownInterruptError } from '@meanwhile/core'
import {
  LeaseLostError,
  NothingToRetryError,
  ThreadBusyError,
  ThreadDeletedError,
  UnknownMessageError,
} from './thread-errors.ts'
import type { EndStatus, ErrorInfo, ThreadEventBody } from './thread-events.ts'
import type { Change, StoredEvent, StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** Of a message that comes while a turn is running. */
export type WhenBusy = 'queue' | 'steer' | 'preempt' | 'reject'
/** Of a message that comes while a turn waits for an answer. */
export type WhenAsking = 'close' | 'reject'

/** Whoever makes a change: the time, how long its leases are, and for a new thread a tag. */
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

export interface Said {
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
  readonly metadata?: Json
  readonly whenBusy: WhenBusy
  readonly whenAsking: WhenAsking
}

/** What is to be done for a turn that has been claimed. */
export type Work =
  /** A run is begun. */
  | { readonly kind: 'begin'; readonly turn: TurnRecord }
  /** Its run goes on from its checkpoint; if there is none it is begun. */
  | { readonly kind: 'resume'; readonly turn: TurnRecord; readonly cause: 'answer' | 'recovery' | 'retry' }
  /** Its run is closed. `cause`: its process is gone, and may have told what counts no more. */
  | { readonly kind: 'close'; readonly turn: TurnRecord; readonly cause?: 'recovery' }

/** The numbers of events begin anew so far behind those of an owner that was lost: what that had not stored nobody confuses with them. */
const GAP = 2 ** 20

export const NOT_ANSWERED = 'The user wrote a message instead of answering.'
export const STOPPED = 'The user stopped this.'

export function newThread(id: string, tag: string, now: number): StoredThread {
  const thread = { id, tag, createdAt: now, updatedAt: now, seq: 0, turns: 0, historyAt: 0, isPaused: false }
  return { thread: { ...thread, isDeleted: false }, turns: [] }
}

/** The turn that runs or waits. */
export function activeTurn({ turns }: StoredThread): TurnRecord | undefined {
  return turns.find(({ status }) => status === 'running' || status === 'waiting')
}

/** The turns that wait for their turn, the next first. */
export function queueOf({ turns }: StoredThread): readonly TurnRecord[] {
  const queued = turns.filter(({ status }) => status === 'queued')
  return [...queued.filter(({ isFirst }) => isFirst), ...queued.filter(({ isFirst }) => !isFirst)]
}

/** A message of the user. */
export function said(stored: StoredThread, message: Said, claim: Claim): Change<{ turn: TurnRecord; work?: Work }> {
  const { thread, turns } = alive(stored)
  const known = turns.find(({ messageId }) => messageId === message.messageId)
  if (known) return { result: { turn: known } }
  const active = activeTurn(stored)
  const { whenBusy, whenAsking } = message
  if (active?.status === 'running' && whenBusy === 'reject') throw new ThreadBusyError(thread.id, 'running')
  if (active?.status === 'waiting' && whenAsking === 'reject') throw new ThreadBusyError(thread.id, 'waiting')
  const turn: TurnRecord = {
    id: message.turn,
    number: thread.turns + 1,
    status: 'queued',
    messageId: message.messageId,
    message: message.message,
    ...(message.metadata !== undefined && { metadata: message.metadata }),
    createdAt: claim.now,
    epoch: 0,
    leaseUntil: 0,
    ...(active?.status === 'running' && whenBusy === 'steer' && { isSteering: true }),
    ...(active?.status === 'running' && whenBusy === 'preempt' && { isFirst: true }),
  }
  const grown = { ...thread, turns: turn.number, isPaused: false, updatedAt: claim.now }
  const waiting = { thread: grown, turns: [...turns, turn] }
  if (!active) {
    const { result, ...change } = begun(waiting, claim)
    const own = change.turns?.find(({ id }) => id === turn.id)
    const changed = [...(own ? [] : [turn]), ...(change.turns ?? [])]
    return { ...change, turns: changed, result: { turn: own ?? turn, ...(result && { work: result }) } }
  }
  if (active.status === 'waiting') {
    const closing = claimed({ ...active, closing: NOT_ANSWERED }, claim)
    return { thread: grown, turns: [closing, turn], result: { turn, work: { kind: 'close', turn: closing } } }
  }
  const changed = whenBusy === 'preempt' ? [stopping(active, NOT_ANSWERED)] : []
  return { thread: grown, turns: [...changed, turn], result: { turn } }
}

/** The first turn of the queue begins. */
function begun(stored: StoredThread, claim: Claim): Change<Work | undefined> {
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
  // What failed before can be retried no more.
  const failed = stored.turns.filter(({ status }) => status === 'failed')
  return {
    thread: { ...thread, seq, updatedAt: claim.now },
    turns: [turn],
    events: [event],
    forgotten: failed.map(({ id }) => id),
    result: { kind: 'begin', turn },
  }
}

function claimed(turn: TurnRecord, { now, lease }: Claim): TurnRecord {
  return { ...turn, status: 'running', epoch: turn.epoch + 1, leaseUntil: now + lease }
}

/** Answers to what the turn asks. Throws {@link UnknownInterruptError} if it does not ask that. */
export function answered(stored: StoredThread, answers: Answers, claim: Claim): Change<Work> {
  const { thread } = alive(stored)
  const active = activeTurn(stored)
  const asked = (active?.interrupts ?? []).filter(({ id }) => !Object.hasOwn(active?.answers ?? {}, id))
  const unknown = Object.keys(answers).filter((id) => asked.every((one) => one.id !== id))
  if (!active || unknown.length > 0) throw new UnknownInterruptError(unknown)
  if (active.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  const turn = claimed({ ...active, answers }, claim)
  return { thread: touched(thread, claim), turns: [turn], result: { kind: 'resume', turn, cause: 'answer' } }
}

/** The answers do not fit: the question is open again. */
export function refused(stored: StoredThread, owner: Owner): Change<undefined> {
  const { answers: _, ...turn } = ownTurn(stored, owner)
  return { turns: [{ ...turn, status: 'waiting', leaseUntil: 0 }], result: undefined }
}

/** The user wants no more of it. Of a running turn its owner is told. */
export function stopped(stored: StoredThread, queue: 'keep' | 'drop', claim: Claim): Change<Work | undefined> {
  const { thread } = alive(stored)
  const queued = queueOf(stored)
  const active = activeTurn(stored)
  const drops = queue === 'drop' ? queued.map((turn) => (active ? droppedUnlessJoined(turn) : dropped(turn))) : []
  const isPaused = queue === 'keep' && queued.length > 0
  const paused = { ...touched(thread, claim), isPaused }
  if (!active) return { thread: paused, turns: drops, result: undefined }
  if (active.status === 'running')
    return { thread: paused, turns: [stopping(active, STOPPED), ...drops], result: undefined }
  const turn = claimed({ ...active, closing: STOPPED }, claim)
  return { thread: paused, turns: [turn, ...drops], result: { kind: 'close', turn } }
}

/** Its owner learns of it with its next write. What was said first holds. */
function stopping(turn: TurnRecord, reason: string): TurnRecord {
  return { ...turn, closing: turn.closing ?? reason }
}

function dropped(turn: TurnRecord): TurnRecord {
  return { ...turn, status: 'dropped' }
}

/** The run at work may have taken its message. */
function droppedUnlessJoined(turn: TurnRecord): TurnRecord {
  return turn.isSteering ? { ...turn, isDropped: true } : dropped(turn)
}

/** The turn that it was to join is over, and has not taken it. */
function notJoined({ isSteering: _, isDropped, ...turn }: TurnRecord): TurnRecord {
  return isDropped ? dropped(turn) : turn
}

/** What an owner writes while it works. */
export interface Progress {
  readonly events: readonly StoredEvent[]
  readonly droppedThrough?: number
  readonly retracted?: readonly number[]
  readonly checkpoint?: NonNullable<Change<unknown>['checkpoint']>
  /** Turns whose messages have joined this one, with the `seq` of the message. */
  readonly joined?: readonly { readonly turn: string; readonly seq: number }[]
}

/** What an owner learns when it writes. */
export interface Orders {
  readonly isStopping: boolean
  /** Messages that are to join its turn. */
  readonly steering: readonly TurnRecord[]
}

export function progressed(stored: StoredThread, owner: Owner, progress: Progress, claim: Claim): Change<Orders> {
  const turn = ownTurn(stored, owner)
  const { events, joined = [], droppedThrough = 0 } = progress
  const historyAt = events.findLast(({ event }) => event.type === 'history-replaced' && !('path' in event))?.seq
  const steering = queueOf(stored).filter(({ isSteering }) => isSteering)
  const joins = steering.flatMap((one): TurnRecord[] => {
    const seq = joined.find(({ turn }) => turn === one.id)?.seq
    if (seq === undefined) return []
    const { message: _, isSteering: __, isDropped: ___, ...rest } = one
    return [{ ...rest, status: 'joined', joined: owner.turn, startSeq: seq }]
  })
  const held = { ...turn, leaseUntil: claim.now + claim.lease }
  const { joined: _, ...written } = progress
  return {
    ...written,
    thread: {
      ...stored.thread,
      seq: Math.max(stored.thread.seq, events.at(-1)?.seq ?? 0, droppedThrough),
      historyAt: historyAt ?? stored.thread.historyAt,
    },
    turns: [held, ...joins],
    result: {
      isStopping: turn.closing !== undefined,
      steering: steering.filter(({ id, isDropped }) => !isDropped && joins.every((one) => one.id !== id)),
    },
  }
}

/** How a turn has ended, or what it waits for. */
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

/** The turn ends or waits. In the same moment the next one of the queue begins. */
export function ended(
  stored: StoredThread,
  owner: Owner,
  outcome: Outcome,
  progress: Progress,
  claim: Claim,
): Change<Work | undefined> {
  const before = progressed(stored, owner, progress, claim)
  const [own = ownTurn(stored, owner), ...joins] = before.turns ?? []
  // It asks, and somebody has stopped it before anybody could be asked.
  if (outcome.status === 'waiting' && own.closing !== undefined) {
    const turn = claimed(own, claim)
    return { ...before, turns: [turn, ...joins], result: { kind: 'close', turn } }
  }
  const { closing: _, answers, interrupts, settled: __, ...turn } = own
  const { status, ...rest } = outcome
  // Its run may not have taken them, and nobody is to be asked again: a retry gives them to it.
  const untaken = status === 'failed' && answers && { answers, ...(interrupts && { interrupts }) }
  const thread = { ...(before.thread ?? stored.thread), updatedAt: claim.now }
  const seq = thread.seq + 1
  const isEnd = status !== 'waiting'
  const body: ThreadEventBody = isEnd
    ? { type: 'turn-end', status, ...(outcome.error && { error: outcome.error }) }
    : { type: 'turn-waiting', interrupts: outcome.interrupts, settled: outcome.settled }
  const event: StoredEvent = { seq, turn: turn.id, ...(isEnd && { isKept: true }), event: body }
  const over: TurnRecord = { ...turn, ...untaken, ...rest, status, leaseUntil: 0 }
  const change = {
    ...before,
    thread: { ...thread, seq },
    turns: [over, ...joins],
    events: [...progress.events, event],
    droppedThrough: thread.seq,
    forgotten: status === 'completed' || status === 'stopped' ? [turn.id] : [],
  }
  if (!isEnd) return { ...change, result: undefined }
  const late = stored.turns.filter(({ id, isSteering }) => isSteering && joins.every((one) => one.id !== id))
  const changes = [...change.turns, ...late.map(notJoined)]
  const changed = new Map(changes.map((one) => [one.id, one]))
  const { result, ...next } = begun(
    { thread: change.thread, turns: stored.turns.map((one) => changed.get(one.id) ?? one) },
    claim,
  )
  return {
    ...change,
    thread: next.thread ?? change.thread,
    turns: [...changes, ...(next.turns ?? [])],
    events: [...change.events, ...(next.events ?? [])],
    forgotten: [...change.forgotten, ...(next.forgotten ?? [])],
    result,
  }
}

/** The owner leaves its turn to whoever comes first. */
export function left(stored: StoredThread, owner: Owner): Change<undefined> {
  return { turns: [{ ...ownTurn(stored, owner), leaseUntil: 0 }], result: undefined }
}

/** Takes over a turn whose owner is gone, or begins the next one of a queue that nobody works on. */
export function recovered(stored: StoredThread, claim: Claim): Change<Work | undefined> {
  const { thread } = stored
  const active = activeTurn(stored)
  if (thread.isDeleted || (active && (active.status === 'waiting' || active.leaseUntil >= claim.now)))
    return { result: undefined }
  if (!active) return begun(stored, claim)
  const turn = claimed(active, claim)
  const kind = turn.closing === undefined ? 'resume' : 'close'
  return { thread: { ...thread, seq: thread.seq + GAP }, turns: [turn], result: { kind, turn, cause: 'recovery' } }
}

/** A failed turn goes on. Throws {@link NothingToRetryError} if the newest turn has not failed. */
export function retried(stored: StoredThread, claim: Claim): Change<Work> {
  const { thread } = alive(stored)
  const active = activeTurn(stored)
  if (active) throw new ThreadBusyError(thread.id, active.status === 'running' ? 'running' : 'waiting')
  const newest = newestOf(stored)
  if (newest?.status !== 'failed') throw new NothingToRetryError(thread.id)
  const { error: _, ...rest } = newest
  const turn = claimed(rest, claim)
  return { thread: touched(thread, claim), turns: [turn], result: { kind: 'resume', turn, cause: 'retry' } }
}

function newestOf({ turns }: StoredThread): TurnRecord | undefined {
  const begun = turns.filter(({ startSeq, status }) => startSeq !== undefined && status !== 'joined')
  return begun.sort((a, b) => (a.startSeq ?? 0) - (b.startSeq ?? 0)).at(-1)
}

/** All from this message on is superseded. Throws {@link UnknownMessageError} if no turn begins with it. */
export function rewound(stored: StoredThread, messageId: string, claim: Claim): Change<undefined> {
  const { thread } = alive(stored)
  if (activeTurn(stored)?.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  const { startSeq, historyAt } = turnFrom(stored, messageId)
  return { thread: { ...touched(thread, claim), historyAt }, supersededFrom: startSeq, result: undefined }
}

/** The turn that begins with this message. */
export function turnFrom(
  { thread, turns }: StoredThread,
  messageId: string,
): { readonly startSeq: number; readonly historyAt: number } {
  const turn = turns.find((one) => one.messageId === messageId && one.status !== 'joined')
  const { startSeq, historyAt } = turn ?? {}
  if (startSeq === undefined || historyAt === undefined) throw new UnknownMessageError(thread.id, messageId)
  return { startSeq, historyAt }
}

/** Nothing is left of it, except that it was deleted. */
export function deleted(stored: StoredThread, { now }: Claim): Change<TurnRecord | undefined> {
  const { id, tag, createdAt, seq } = stored.thread
  const thread = { ...newThread(id, tag, createdAt).thread, seq, updatedAt: now, isDeleted: true }
  return { thread, isErased: true, result: activeTurn(stored) }
}

/** Throws {@link ThreadDeletedError} if the thread was deleted. */
export function alive(stored: StoredThread): StoredThread {
  if (stored.thread.isDeleted) throw new ThreadDeletedError(stored.thread.id)
  return stored
}

/** The turn of whoever writes. Throws {@link LeaseLostError} if somebody else has it by now. */
function ownTurn({ turns }: StoredThread, { thread, turn, epoch }: Owner): TurnRecord {
  const own = turns.find(({ id }) => id === turn)
  if (own?.status !== 'running' || own.epoch !== epoch) throw new LeaseLostError(thread)
  return own
}

function touched(thread: ThreadRecord, { now }: Claim): ThreadRecord {
  return { ...thread, updatedAt: now }
}
