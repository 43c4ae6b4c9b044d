/** The decisions for the requests of users. Each is a pure function: it takes the stored records and returns the change to write. */

import type { Answers, Json, UserMessage } from '@meanwhile/core'
import { UnknownInterruptError } from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'
import { cursorAt } from './cursor.ts'
import { NothingToRetryError, QueueFullError, ThreadBusyError, UnknownMessageError } from './thread-errors.ts'
import { beginNext, dropTurn, queueOf } from './thread-queue.ts'
import {
  activeTurn,
  type Claim,
  claimTurn,
  newestTurn,
  newThread,
  notDeleted,
  touch,
  type Work,
} from './thread-records.ts'
import type { Change, StoredThread, ThreadRecord, TurnRecord } from './thread-store.ts'

/** What happens to a message that arrives while a turn is running. */
export type WhenBusy = 'queue' | 'steer' | 'preempt' | 'reject'
/** What happens to a message that arrives while a turn waits for an answer. */
export type WhenAsking = 'close' | 'reject'

/** What happens to a message that arrives while a turn is running or waits for an answer. */
export interface SendPolicy {
  readonly whenBusy: WhenBusy
  readonly whenAsking: WhenAsking
  /** How many messages may wait in the queue. */
  readonly maxQueued: number
}

/** A message to add to a thread. `turn`: the id for its turn. */
export interface NewMessage extends SendPolicy {
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
  readonly metadata?: Json
  readonly display?: Json
  readonly trace?: NonNullable<TurnRecord['trace']>
}

// Why a turn is closed. Its open calls get this text as their result.
const NOT_ANSWERED = 'The user wrote a message instead of answering.'
const PREEMPTED = 'The user wrote another message.'
export const STOPPED = 'The user stopped this.'

/** The effect of a message. */
export interface SendResult {
  /** The turn of the message. */
  readonly record: TurnRecord
  /** The work that begins: the turn of the message, or the closing of the turn that waited. */
  readonly work?: Work
  /** The id of the running turn for which the message waits. */
  readonly busy?: string
}

/** Adds a message of the user: it begins a turn, or waits in the queue. If the thread has a message with the same id, nothing changes. */
export function addMessage(stored: StoredThread, message: NewMessage, claim: Claim): Change<SendResult> {
  const { thread, turns } = notDeleted(stored)
  const known = turns.find(({ messageId }) => messageId === message.messageId)
  if (known) return { result: { record: known } }
  const active = activeTurn(stored)
  const { whenBusy, whenAsking, maxQueued } = message
  if (active?.status === 'running' && whenBusy === 'reject') throw new ThreadBusyError(thread.id, 'running')
  if (active?.status === 'waiting' && whenAsking === 'reject') throw new ThreadBusyError(thread.id, 'waiting')
  // Without an active turn the first message of the queue begins.
  if (active && queueOf(stored).length >= maxQueued) throw new QueueFullError(thread.id, maxQueued)
  const turn: TurnRecord = {
    id: message.turn,
    number: thread.turns + 1,
    status: 'queued',
    messageId: message.messageId,
    message: message.message,
    ...(message.metadata !== undefined && { metadata: message.metadata }),
    ...(message.display !== undefined && { display: message.display }),
    ...(message.trace && { trace: message.trace }),
    createdAt: claim.now,
    epoch: 0,
    leaseUntil: 0,
    ...(active?.status === 'running' && whenBusy === 'steer' && { isSteering: true }),
    ...(active?.status === 'running' && whenBusy === 'preempt' && { isFirst: true }),
  }
  const grown = { ...thread, turns: turn.number, isPaused: false, updatedAt: claim.now }
  const waiting = { thread: grown, turns: [...turns, turn] }
  if (!active) {
    const { result, ...change } = beginNext(waiting, claim)
    const own = change.turns?.find(({ id }) => id === turn.id)
    const changed = [...(own ? [] : [turn]), ...(change.turns ?? [])]
    return {
      thread: grown,
      ...change,
      turns: changed,
      result: { record: own ?? turn, ...(result && { work: result }) },
    }
  }
  if (active.status === 'waiting') {
    const closing = claimTurn({ ...active, closing: NOT_ANSWERED }, claim)
    const work: Work = { kind: 'close', turn: closing, seq: thread.seq }
    return { thread: grown, turns: [closing, turn], result: { record: turn, work } }
  }
  const changed = whenBusy === 'preempt' ? [markStopping(active, PREEMPTED)] : []
  return { thread: grown, turns: [...changed, turn], result: { record: turn, busy: active.id } }
}

/**
 * Adds a message that replaces another one: that one and everything after it become superseded. Throws {@link UnknownMessageError} if no turn begins
 * with it.
 */
export function replaceMessage(
  stored: StoredThread,
  replacing: string,
  message: NewMessage,
  claim: Claim,
): Change<SendResult> {
  const isKnown = stored.turns.some(({ messageId }) => messageId === message.messageId)
  if (isKnown && message.messageId !== replacing) return addMessage(stored, message, claim)
  const { thread, supersededFrom } = rewindTo(stored, replacing, claim)
  const turns = stored.turns.filter(({ startSeq }) => startSeq === undefined || startSeq < supersededFrom)
  return { ...addMessage({ thread, turns }, message, claim), supersededFrom }
}

/** The work on a turn that continues, and the cursor after which its new events begin. */
export interface Resumption {
  readonly work: Work
  readonly cursor: string
  /** Whether the turn runs with these answers already, and nothing has changed. */
  readonly isRepeated?: boolean
}

/**
 * Answers the questions of the turn. `mayRepeat`: answers with which the turn runs already change nothing, because its run may not have them. Throws
 * {@link UnknownInterruptError} for an answer without a question.
 */
export function answerTurn(
  stored: StoredThread,
  answers: Answers,
  claim: Claim,
  mayRepeat = false,
): Change<Resumption> {
  const { thread } = notDeleted(stored)
  const active = activeTurn(stored)
  const asked = (active?.interrupts ?? []).filter(({ id }) => !Object.hasOwn(active?.answers ?? {}, id))
  const ids = Object.keys(answers)
  const unknown = ids.filter((id) => asked.every((one) => one.id !== id))
  if (!active) throw new UnknownInterruptError(ids, 'no turn of the thread waits for an answer')
  const { answers: given = {}, status, closing } = active
  const isGiven = (id: string) => Object.hasOwn(given, id) && sameInput(given[id], answers[id])
  if (mayRepeat && status === 'running' && closing === undefined && ids.every(isGiven))
    return { result: { ...resumption(thread, active, 'answer'), isRepeated: true } }
  const isAnswered = unknown.every((id) => Object.hasOwn(active.answers ?? {}, id))
  if (unknown.length > 0) throw new UnknownInterruptError(unknown, isAnswered ? 'it was answered' : undefined)
  if (active.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  return resumeTurn(thread, claimTurn({ ...active, answers }, claim), 'answer', claim)
}

function resumeTurn(
  thread: ThreadRecord,
  turn: TurnRecord,
  cause: 'answer' | 'retry',
  claim: Claim,
): Change<Resumption> {
  return { thread: touch(thread, claim), turns: [turn], result: resumption(thread, turn, cause) }
}

function resumption(thread: ThreadRecord, turn: TurnRecord, cause: 'answer' | 'retry'): Resumption {
  return { work: { kind: 'resume', turn, seq: thread.seq, cause }, cursor: cursorAt(thread, thread.seq) }
}

/** Stops the active turn. If it runs, it is only marked: its owner stops it. If it waits, this process closes it. */
export function stopTurn(
  stored: StoredThread,
  queue: 'keep' | 'drop',
  claim: Claim,
): Change<{ readonly turn?: string; readonly work?: Work }> {
  const { thread } = notDeleted(stored)
  const queued = queueOf(stored)
  const active = activeTurn(stored)
  if (!active && queued.length === 0) return { result: {} }
  const drops = queue === 'drop' ? queued.map((turn) => dropTurn(turn, active !== undefined)) : []
  const isPaused = queue === 'keep' && queued.length > 0
  const paused = { ...touch(thread, claim), isPaused }
  if (!active) return { thread: paused, turns: drops, result: {} }
  if (active.status === 'running')
    return { thread: paused, turns: [markStopping(active, STOPPED), ...drops], result: { turn: active.id } }
  const turn = claimTurn({ ...active, closing: STOPPED }, claim)
  return {
    thread: paused,
    turns: [turn, ...drops],
    result: { turn: turn.id, work: { kind: 'close', turn, seq: thread.seq } },
  }
}

/** Drops a message that waits in the queue. Returns the id of its turn. Throws {@link UnknownMessageError} if it does not wait there. */
export function dropMessage(stored: StoredThread, messageId: string, claim: Claim): Change<string> {
  const { thread, turns } = notDeleted(stored)
  const turn = turns.find((one) => one.messageId === messageId)
  if (turn?.status === 'dropped') return { result: turn.id }
  if (turn?.status !== 'queued')
    throw new UnknownMessageError(thread.id, messageId, 'its queue does not have the message')
  const dropped = dropTurn(turn, activeTurn(stored) !== undefined)
  return { thread: touch(thread, claim), turns: [dropped], result: turn.id }
}

/** Marks a running turn, so that its owner stops it. The owner reads the mark with its next write. A turn that is already marked keeps its reason. */
function markStopping(turn: TurnRecord, reason: string): TurnRecord {
  return { ...turn, closing: turn.closing ?? reason }
}

/** Continues the newest turn, which must have failed. Throws {@link NothingToRetryError} if it has not failed or its checkpoint was deleted. */
export function retryTurn(stored: StoredThread, claim: Claim): Change<Resumption> {
  const { thread } = notDeleted(stored)
  const active = activeTurn(stored)
  if (active) throw new ThreadBusyError(thread.id, active.status === 'running' ? 'running' : 'waiting')
  const newest = newestTurn(stored.turns)
  if (newest?.status !== 'failed' || newest.isFinal) throw new NothingToRetryError(thread.id)
  const { error: _, ...rest } = newest
  return resumeTurn(thread, claimTurn(rest, claim), 'retry', claim)
}

type Rewind = Change<undefined> & Required<Pick<Change<undefined>, 'thread' | 'supersededFrom'>>

/** Makes this message and everything after it superseded. Throws {@link UnknownMessageError} if no turn begins with it. */
export function rewindTo(stored: StoredThread, messageId: string, claim: Claim): Rewind {
  const { thread } = notDeleted(stored)
  if (activeTurn(stored)?.status === 'running') throw new ThreadBusyError(thread.id, 'running')
  const { startSeq, historyAt } = turnBegunBy(stored, messageId)
  return { thread: { ...touch(thread, claim), historyAt }, supersededFrom: startSeq, result: undefined }
}

/** Returns the `startSeq` and the `historyAt` of the turn that begins with this message. Throws {@link UnknownMessageError}. */
export function turnBegunBy(
  { thread, turns }: StoredThread,
  messageId: string,
): { readonly startSeq: number; readonly historyAt: number } {
  const turn = turns.find((one) => one.messageId === messageId && one.status !== 'joined')
  const { startSeq, historyAt } = turn ?? {}
  if (startSeq === undefined || historyAt === undefined) throw new UnknownMessageError(thread.id, messageId)
  return { startSeq, historyAt }
}

/** Deletes everything except the record of the thread, so that its id cannot be used again. */
export function deleteThread(stored: StoredThread, { now }: Claim): Change<undefined> {
  const { id, tag, createdAt, seq } = stored.thread
  const thread = { ...newThread(id, tag, createdAt).thread, seq, updatedAt: now, isDeleted: true }
  return { thread, deletesAll: true, result: undefined }
}
