/**
 * Recognises a list of messages that a client has cut. The buttons of CopilotKit and assistant-ui do nothing else to get another answer, and assistant-ui
 * also edits a message so. A client that has lost its connection, one that was just loaded, and another tab may send the same list. So a cut counts only if
 * the client has received all that it leaves out. Its state proves that: clients keep it and send it with each request, and a run puts the id of a turn
 * there when it has sent everything else of that turn.
 */

import type { ThreadState, TurnState } from '@meanwhile/threads'
import type { ClientState } from './client-state.ts'
import type { Conversation } from './conversation.ts'
import { type RunInput, type Said, saidIn } from './run-input.ts'
import { turnOfMessage } from './step-messages.ts'
import type { AgUiEvent } from './wire.ts'

/** What a client asks with a list that it has cut. */
export interface Cut {
  /** The same, as a request says it in words. */
  readonly asks: Partial<Pick<RunInput, 'isRegeneration' | 'rewind'>>
  /** The message of the thread that is to be answered again, or the new one. */
  readonly said: Said
  /** The id of the turn that is replaced. */
  readonly turn: string
}

/**
 * Tells the client that it has received the newest turn of the conversation to its end. A turn that has failed may go on: then the client has not received
 * all of it.
 */
export function* seen(
  { end, turn }: Conversation,
  { state }: RunInput,
  client: ClientState,
): Generator<AgUiEvent, void> {
  if (end?.type === 'turn-end' && isOver(end) && turn !== undefined && turn !== state?.seenTurn)
    yield client.set('seenTurn', turn)
}

/**
 * Returns what the client asks with its list; undefined if it has not cut it, may not have received what is missing, or says what it asks. A list with only
 * a new message is never an edit of the first one, because a client may send only its newest message.
 */
export function cutIn(input: RunInput, thread: ThreadState): Cut | undefined {
  const said = saidIn(input)
  const newest = thread.turns.at(-1)
  const hasSeen = newest !== undefined && isOver(newest) && newest.id === input.state?.seenTurn
  if (!said || !hasSeen || input.rewind !== undefined || input.isRegeneration || input.isRetry) return undefined
  const own = thread.messages.find(({ id }) => id === said.id)
  if (!own) {
    const missing = firstMissing(input.messages.slice(0, -1), thread)
    return missing && { asks: { rewind: missing.messageId }, said, turn: missing.id }
  }
  const turn = thread.turns.find(({ messageId }) => messageId === own.id)
  if (!turn || own.message.role !== 'user' || own === thread.messages.at(-1)) return undefined
  return { asks: { isRegeneration: true }, said: { id: own.id, message: own.message }, turn: turn.id }
}

/** The turn after the last one that a client has; undefined if it has the newest one, or none. */
function firstMissing(
  held: RunInput['messages'],
  { turns, messages }: Pick<ThreadState, 'turns' | 'messages'>,
): TurnState | undefined {
  const turnOf = new Map(messages.map(({ id, turn }) => [id, turn]))
  const own = held.map(({ id, role }) => ({ role, turn: turnOf.get(id) ?? turnOfMessage(id) }))
  // It gives messages other ids than the thread.
  if (own.some(({ role, turn }) => role === 'user' && turn === undefined)) return undefined
  const last = Math.max(-1, ...own.map(({ turn }) => turns.findIndex(({ id }) => id === turn)))
  return last < 0 ? undefined : turns[last + 1]
}

/** Whether nothing of the turn can follow. */
export function isOver({ status }: Pick<TurnState, 'status'>): boolean {
  return status === 'completed' || status === 'stopped'
}
