/** Builds the state that `threads.read` returns: the messages, turns, questions and queue of a thread. */

import type { Json, Message, PendingInterrupt, ToolMessage, Usage } from '@meanwhile/core'
import { shownEvents } from './changed-messages.ts'
import { cursorAt } from './cursor.ts'
import { decisionsIn, type ThreadDecision } from './decisions.ts'
import type { ErrorInfo, InsideCard } from './thread-events.ts'
import { queueOf } from './thread-queue.ts'
import { activeTurn, begunTurns } from './thread-records.ts'
import type { StoredEvent, ThreadRecord, TurnRecord, TurnStatus } from './thread-store.ts'
import type { UnstoredEvents } from './turn-runner.ts'

/** A message of a thread. */
export interface ThreadMessage {
  /** The id of the message, unique in its thread. */
  readonly id: string
  /** The id of the turn. */
  readonly turn: string
  /** The message. */
  readonly message: Message
  /** The `display` that was passed to `send` with the message. */
  readonly display?: Json
}

/** Calls that a human was asked about, as far as cards show them. */
export interface ThreadInside {
  /** The id of the turn. */
  readonly turn: string
  /** The id of the message before it. */
  readonly after: string
  /** The id of the call of the turn that is one of these calls, or contains them. */
  readonly callId: string
  /** A card replaces the one before with the same path. */
  readonly cards: readonly InsideCard[]
}

/** The result of a background call: in the messages its call only has a first result, which says that its work has begun. */
export interface ThreadBackground {
  /** The id of the turn. */
  readonly turn: string
  /** The id of the message before it. */
  readonly after: string
  /** The result. */
  readonly message: ToolMessage
}

/** A turn of a thread, without its messages. */
export interface TurnState {
  /** The id of the turn. */
  readonly id: string
  /** The status of the turn. */
  readonly status: TurnStatus
  /** The id of the message that began the turn. */
  readonly messageId: string
  /** The `metadata` that was passed to `send`. */
  readonly metadata?: Json
  /** When the message that began the turn was stored. */
  readonly createdAt: Date
  /** When the turn ended, or began to wait for an answer. */
  readonly endedAt?: Date
  /** The error of a failed turn. */
  readonly error?: ErrorInfo
  /** The tokens that a turn has used, once it has ended, as far as they are known. */
  readonly usage?: Usage
}

/** A thread, as `read` returns it. */
export interface ThreadState {
  /** The id of the thread. */
  readonly id: string
  /** Whether a turn is running, or waits for an answer. */
  readonly status: 'idle' | 'running' | 'waiting'
  /** All messages, in order. If a middleware summarises them, the model reads fewer. */
  readonly messages: readonly ThreadMessage[]
  /** The questions that wait for an answer. */
  readonly interrupts: readonly PendingInterrupt[]
  /** While the thread waits: the results of the calls of the same step that asked nothing. They are not among the messages yet. */
  readonly settled: readonly ToolMessage[]
  /** What was decided about calls that needed approval, in order. */
  readonly decisions: readonly ThreadDecision[]
  /**
   * The calls inside calls about which a human was asked, and those of the turns that were decided, or have another input than the model wrote, in order.
   * Absent if there are none.
   */
  readonly inside?: readonly ThreadInside[]
  /** The results of background calls, one for each, in order. Absent if there are none. */
  readonly background?: readonly ThreadBackground[]
  /** All turns that have begun, in the order of their messages. */
  readonly turns: readonly TurnState[]
  /** The messages in the queue, the next one first. */
  readonly queued: readonly ThreadMessage[]
  /** Pass it as `after` to `events` of the running turn, to receive what is not among the messages. */
  readonly cursor?: string
}

/**
 * Returns the state of a thread.
 *
 * @param given All turns.
 * @param stored All kept events in the store.
 * @param unstored The events of the running turn that are not stored yet.
 */
export function stateOf(
  thread: ThreadRecord,
  given: readonly TurnRecord[],
  stored: readonly StoredEvent[],
  unstored: UnstoredEvents = NO_EVENTS,
): ThreadState {
  const { kept, retracted, joined } = unstored
  const last = stored.at(-1)?.seq ?? 0
  const invalid = new Set(retracted)
  const joinedTurns = new Set(joined)
  const all = [...stored.filter(({ seq }) => !invalid.has(seq)), ...kept.filter(({ seq }) => seq > last)]
  const events = shownEvents(all)
  const turns = given.filter(({ id }) => !joinedTurns.has(id))
  const active = activeTurn({ turns })
  const inside = insideOf(events)
  const background = backgroundOf(events)
  const waiting = active?.status === 'waiting' ? active : undefined
  return {
    id: thread.id,
    status: waiting ? 'waiting' : active ? 'running' : 'idle',
    messages: events.flatMap(messageIn),
    interrupts: waiting?.interrupts ?? [],
    settled: waiting?.settled ?? [],
    decisions: decisionsIn(events),
    ...(inside.length > 0 && { inside }),
    ...(background.length > 0 && { background }),
    turns: begunTurns(turns).map(turnState),
    queued: queueOf({ turns }).flatMap(({ id, messageId, message, display }) =>
      message ? [{ id: messageId, turn: id, message, ...(display !== undefined && { display }) }] : [],
    ),
    // `turn-waiting`, the last event of a waiting turn, is not a kept event.
    cursor: cursorAt(thread, waiting ? thread.seq : (all.at(-1)?.seq ?? 0)),
  }
}

const NO_EVENTS: UnstoredEvents = { kept: [], retracted: [], joined: [] }

/** Returns the state of a thread that does not exist. */
export function emptyState(id: string): ThreadState {
  return { id, status: 'idle', messages: [], interrupts: [], settled: [], decisions: [], turns: [], queued: [] }
}

function messageIn({ turn, event }: StoredEvent): readonly ThreadMessage[] {
  if (event.type !== 'turn-start' && event.type !== 'message') return []
  const { messageId = '', message, display } = { display: undefined, ...event }
  return [{ id: messageId, turn, message, ...(display !== undefined && { display }) }]
}

function insideOf(events: readonly StoredEvent[]): readonly ThreadInside[] {
  let after = ''
  return events.flatMap((stored) => {
    after = messageIn(stored)[0]?.id ?? after
    const { turn, event } = stored
    return event.type === 'inside' ? [{ turn, after, callId: event.callId, cards: event.cards }] : []
  })
}

function backgroundOf(events: readonly StoredEvent[]): readonly ThreadBackground[] {
  let after = ''
  const results = events.flatMap((stored) => {
    after = messageIn(stored)[0]?.id ?? after
    const { turn, event } = stored
    return event.type === 'background-end' ? [{ turn, after, message: event.message }] : []
  })
  // A process that died may have told a result that it had not saved. The process that took over the turn told another one, which the model reads.
  const last = new Set(new Map(results.map((one) => [`${one.turn} ${one.message.callId}`, one])).values())
  return results.filter((one) => last.has(one))
}

export function turnState({
  id,
  status,
  messageId,
  metadata,
  createdAt,
  endedAt,
  error,
  usage,
}: TurnRecord): TurnState {
  return {
    id,
    status,
    messageId,
    createdAt: new Date(createdAt),
    ...(endedAt !== undefined && status !== 'running' && { endedAt: new Date(endedAt) }),
    ...(metadata !== undefined && { metadata }),
    ...(error && { error }),
    ...(usage && status !== 'running' && { usage }),
  }
}
