/** The decisions for requests of users. Each is a pure function: it takes the stored records and returns the change to write. */

import type { Answers, Json, UserMessage } from '@meanwhile/core'
import { UnknownInterruptError } from '@meanwhile/core'
import { cursorAt } from './cursor.ts'
import { NothingToRetryError, ThreadBusyError, UnknownMessageError } from './thread-errors.ts'
import { begun, dropped, queueOf } from './thread-queue.ts'
import { activeTurn, alive, type Claim, claimed, newestTurn, newThread, touched, type Work } from './thread-records.ts'
import type { Change, StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** What happens to a message that arrives while a turn is running. */
export type WhenBusy = 'queue' | 'steer' | 'preempt' | 'reject'
/** What happens to a message that arrives while a turn waits for an answer. */
export type WhenAsking = 'close' | 'reject'

export interface Said {
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
  readonly metadata?: Json
  readonly whenBusy: WhenBusy
  readonly whenAsking: WhenAsking
}

/** Why a turn is closed. Its open calls get this text as their result. */
const NOT_ANSWERED = 'The user wrote a message instead of answering.'
const PREEMPTED = 'The user wrote another message.'
const STOPPED = 'The user stopped this.'

/** The effect of a message: its turn, and either the work that begins or the turn that is running. */
export interface SaidResult {
  readonly record: TurnRecord
  readonly work?: Work
  readonly busy?: string
}

/** A message of the user: it begins a turn, or waits. A message with a known id changes nothing. */
export function said(stored: StoredThread, message: Said, claim: Claim): Change<SaidResult> {
  const { thread, turns } = alive(stored)
  const known = turns.find(({ messageId }) => messageId === message.messageId)
  if (known) return { result: { record: known } }
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
    return { ...change, turns: changed, result: { record: own ?? turn, ...(result && { work: result }) } }
  }
  if (active.status === 'waiting') {
    const closing = claimed({ ...active, closing: NOT_ANSWERED }, claim)
    const work: Work = { kind: 'close', turn: closing, seq: thread.seq }
    return { thread: grown, turns: [closing, turn], result: { record: turn, work } }
  }
  const changed = whenBusy === 'preempt' ? [stopping(active, PREEMPTED)] : []
  return { thread: grown, turns: [...changed, turn], result: { record: turn, busy: active.id } }
}

/** A message that replaces another one: that one and everything after it are superseded. Throws {@link UnknownMessageError} if no turn begins with it. */
export function saidInstead(stored: StoredThread, replacing: string, message: Said, claim: Claim): Change<SaidResult> {
  const isKnown = stored.turns.some(({ messageId }) => messageId === message.messageId)
  if (isKnown && message.messageId !== replacing) return said(stored, message, claim)
  const { thread, supersededFrom } = rewound(stored, replacing, claim)
  const turns = stored.turns.filter(({ startSeq }) => startSeq === undefined || startSeq < supersededFrom)
  return { ...said({ thread, turns }, message, claim), supersededFrom }
}

/** A turn that continues, and the cursor after which its new events begin. */
export interface Resumption {
  readonly work: Work
  readonly cursor: string
}

/** Answers the questions of the turn. Throws {@link UnknownInterruptError} for an answer without a question. */
export function answered(stored: StoredThread, answers: Answers, claim: Claim): Change<Resumption> {
  const { thread } = alive(stored)
  const active = activeTurn(stored)
  const asked = (active?.interrupts ?? []).filter(({ id }) => !Object.hasOwn(active?.answers ?? {}, id))
  const unknown = Object.keys(answers).filter((id) => asked.every((one) => one.id !== id))
  if (!active || unknown.length > 0) throw new UnknownInterruptError(unknown)
  if (active.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  return resumed(thread, claimed({ ...active, answers }, claim), 'answer', claim)
}

function resumed(thread: ThreadRecord, turn: TurnRecord, cause: 'answer' | 'retry', claim: Claim): Change<Resumption> {
  const work: Work = { kind: 'resume', turn, seq: thread.seq, cause }
  return { thread: touched(thread, claim), turns: [turn], result: { work, cursor: cursorAt(thread, thread.seq) } }
}

/** The user stops the active turn. A turn that runs is stopped by its owner; one that waits is closed. */
export function stopped(
  stored: StoredThread,
  queue: 'keep' | 'drop',
  claim: Claim,
): Change<{ readonly turn?: string; readonly work?: Work }> {
  const { thread } = alive(stored)
  const queued = queueOf(stored)
  const active = activeTurn(stored)
  if (!active && queued.length === 0) return { result: {} }
  const drops = queue === 'drop' ? queued.map((turn) => dropped(turn, active !== undefined)) : []
  const isPaused = queue === 'keep' && queued.length > 0
  const paused = { ...touched(thread, claim), isPaused }
  if (!active) return { thread: paused, turns: drops, result: {} }
  if (active.status === 'running')
    return { thread: paused, turns: [stopping(active, STOPPED), ...drops], result: { turn: active.id } }
  const turn = claimed({ ...active, closing: STOPPED }, claim)
  return {
    thread: paused,
    turns: [turn, ...drops],
    result: { turn: turn.id, work: { kind: 'close', turn, seq: thread.seq } },
  }
}

/** Marks the turn: its owner reads this with its next write. If the turn is marked already, the first reason stays. */
function stopping(turn: TurnRecord, reason: string): TurnRecord {
  return { ...turn, closing: turn.closing ?? reason }
}

/** Continues a failed turn. Throws {@link NothingToRetryError} if the newest turn has not failed. */
export function retried(stored: StoredThread, claim: Claim): Change<Resumption> {
  const { thread } = alive(stored)
  const active = activeTurn(stored)
  if (active) throw new ThreadBusyError(thread.id, active.status === 'running' ? 'running' : 'waiting')
  const newest = newestTurn(stored.turns)
  if (newest?.status !== 'failed') throw new NothingToRetryError(thread.id)
  const { error: _, ...rest } = newest
  return resumed(thread, claimed(rest, claim), 'retry', claim)
}

type Rewound = Change<undefined> & Required<Pick<Change<undefined>, 'thread' | 'supersededFrom'>>

/** Supersedes this message and everything after it. Throws {@link UnknownMessageError} if no turn begins with it. */
export function rewound(stored: StoredThread, messageId: string, claim: Claim): Rewound {
  const { thread } = alive(stored)
  if (activeTurn(stored)?.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  const { startSeq, historyAt } = turnFrom(stored, messageId)
  return { thread: { ...touched(thread, claim), historyAt }, supersededFrom: startSeq, result: undefined }
}

/** Returns where the turn with this message begins, and where its history began. Throws {@link UnknownMessageError}. */
export function turnFrom(
  { thread, turns }: StoredThread,
  messageId: string,
): { readonly startSeq: number; readonly historyAt: number } {
  const turn = turns.find((one) => one.messageId === messageId && one.status !== 'joined')
  const { startSeq, historyAt } = turn ?? {}
  if (startSeq === undefined || historyAt === undefined) throw new UnknownMessageError(thread.id, messageId)
  return { startSeq, historyAt }
}

/** Erases everything except the record of the thread, so that its id is not used again. */
export function deleted(stored: StoredThread, { now }: Claim): Change<undefined> {
  const { id, tag, createdAt, seq } = stored.thread
  const thread = { ...newThread(id, tag, createdAt).thread, seq, updatedAt: now, isDeleted: true }
  return { thread, isErased: true, result: undefined }
}
