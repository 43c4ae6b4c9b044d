/** Converts the events of a turn to AG-UI events. */

import type { ThreadState } from '@meanwhile/threads'
import { eventStream } from '../event-stream.ts'
import { type Present, turnErrorText } from '../present.ts'
import type { ReadEvent } from '../turn/turn-reader.ts'
import { turnUpdates } from '../turn/turn-updates.ts'
import { ClientState } from './client-state.ts'
import { Conversation } from './conversation.ts'
import { interruptOf } from './interrupts.ts'
import { olderEvent } from './older-clients.ts'
import { snapshots } from './snapshots.ts'
import type { AgUiEvent, AgUiMessage } from './wire.ts'

/** The ids of the client's request. */
export interface RunIds {
  /** The id of the thread, as the client knows it. */
  readonly threadId: string
  /** The id of the run, as the client knows it. */
  readonly runId: string
}

/** The options of `toAgUiStream`. */
export interface AgUiStreamOptions extends RunIds, Present {
  /** Whether the client is older than AG-UI 1.0, as 0.0.59 is: its request has no `protocolVersion`. Default `false`. */
  readonly isOlder?: boolean
  /** What the client already has: the thread as it was read before. Default: only the first message of the turn. */
  readonly state?: ThreadState
  /** For a run without a thread: what the client already has, which is the messages of its request. */
  readonly messages?: readonly AgUiMessage[]
}

/**
 * Converts a turn to AG-UI events: pass `turn.events()` of a thread, from the beginning, or `agent.stream(…)` without a thread. One AG-UI run lasts
 * until the end of the turn, or until its next question.
 *
 * After a failed attempt, and before `RUN_ERROR`, a `MESSAGES_SNAPSHOT` removes what is no longer valid.
 */
export async function* toAgUiStream(
  events: AsyncIterable<ReadEvent>,
  options: AgUiStreamOptions,
): AsyncGenerator<AgUiEvent, void> {
  for await (const event of runOf(events, options)) yield options.isOlder ? olderEvent(event) : event
}

async function* runOf(
  events: AsyncIterable<ReadEvent>,
  { threadId, runId, state, messages, ...present }: AgUiStreamOptions,
): AsyncGenerator<AgUiEvent, void> {
  const conversation = new Conversation(present, state, messages)
  yield runStarted({ threadId, runId })
  // The state of the client is not known.
  yield* told(events, conversation, state?.cursor, new ClientState(undefined))
  yield* runEnded({ threadId, runId }, conversation, present)
}

/** Like {@link toAgUiStream}, as the response to a client's request. */
export function toAgUiStreamResponse(events: AsyncIterable<ReadEvent>, options: AgUiStreamOptions): Response {
  return eventStream(() => toAgUiStream(events, options))
}

export function runStarted({ threadId, runId }: RunIds): AgUiEvent {
  return { type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }
}

/** Returns the AG-UI events for these events, after the cursor. `client`: the client's own state, to which the plan is added. */
export async function* told(
  events: AsyncIterable<ReadEvent>,
  conversation: Conversation,
  after: string | undefined,
  client: ClientState,
): AsyncGenerator<AgUiEvent, void> {
  let { plan } = conversation
  for await (const update of turnUpdates(events, after === undefined ? {} : { after })) {
    yield* conversation.read(update)
    if (conversation.plan !== plan) yield client.set('plan', conversation.plan)
    plan = conversation.plan
  }
}

/** The events at the end of a turn; a turn without an end has failed. */
export function* runEnded(ids: RunIds, conversation: Conversation, present: Present): Generator<AgUiEvent, void> {
  const { end, messages } = conversation
  if (end?.type === 'turn-waiting') {
    const { questions } = end
    const calls = questions.flatMap((question) => conversation.idOfCard(question) ?? [])
    if (questions.every(({ kind }) => kind === 'client-call'))
      yield finished(ids, { type: 'success', pendingToolCallIds: calls })
    else {
      const interrupts = questions.map((question) => interruptOf(question, conversation.idOfCard(question), present))
      yield finished(ids, { type: 'interrupt', interrupts })
    }
  } else if (end?.status === 'completed') yield finished(ids, { type: 'success' })
  else if (end?.status === 'stopped' || end?.status === 'dropped') yield finished(ids, { type: 'cancelled' })
  else {
    yield* snapshots(messages, messages)
    yield runError(turnErrorText(present, end?.error))
  }
}

export function finished({ threadId, runId }: RunIds, outcome: Outcome): AgUiEvent {
  return { type: 'RUN_FINISHED', threadId, runId, outcome }
}

type Outcome = NonNullable<Extract<AgUiEvent, { type: 'RUN_FINISHED' }>['outcome']>

export function runError(message: string, code?: string): AgUiEvent {
  return { type: 'RUN_ERROR', message, ...(code !== undefined && { code }) }
}

/**
 * Returns all messages of a thread, including the results of a waiting turn. They are the same messages that a client has after reading the streams.
 */
export function toAgUiMessages(state: ThreadState, present: Present = {}): readonly AgUiMessage[] {
  return new Conversation(present, state).messages
}
