/** Streams the events of one AG-UI run to the client. */

import type { ThreadEvent, Threads } from '@meanwhile/threads'
import type { Report } from '../guarded.ts'
import { type Present, turnErrorText } from '../present.ts'
import { refusalOf } from '../refusals.ts'
import type { Applied, Begun } from './apply.ts'
import { ClientState } from './client-state.ts'
import { Conversation } from './conversation.ts'
import { seen } from './cut-lists.ts'
import { olderEvent } from './older-clients.ts'
import type { RunInput } from './run-input.ts'
import { isUpToDate, snapshots } from './snapshots.ts'
import { finished, runEnded, runError, runStarted, told } from './stream.ts'
import type { AgUiEvent } from './wire.ts'

export interface RunRequest {
  readonly threads: Threads
  readonly present: Present
  readonly input: RunInput
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Receives errors that the client does not see. */
  readonly report: Report
}

export async function* runEvents(request: RunRequest, applied: Applied): AsyncGenerator<AgUiEvent, void> {
  for await (const event of eventsOf(request, applied)) yield request.input.isOlder ? olderEvent(event) : event
}

async function* eventsOf(request: RunRequest, applied: Applied): AsyncGenerator<AgUiEvent, void> {
  const { threads, present, input, signal, report } = request
  const client = new ClientState(input.state)
  let conversation: Conversation | undefined
  yield runStarted(input)
  try {
    const { turn, after, ...begun } = await joined(request, applied)
    conversation = begun.conversation
    yield* caughtUp(input, conversation, client, 'sent' in applied && applied.isReplacement)
    if (turn) yield* told(turn.events({ signal }), conversation, after, client)
    while (turn && conversation.isOutdated) {
      const { messages } = conversation
      const state = await threads.read(input.threadId)
      conversation = new Conversation(present, state)
      yield* snapshots(messages, conversation.messages)
      yield* told(turn.events({ signal }), conversation, state.cursor, client)
    }
    // A deleted thread streams nothing more: this throws.
    if (turn && !conversation.end) await threads.turn(input.threadId, turn.id)
    yield* seen(conversation, input, client)
    if (turn || (conversation.end && !isLate(input, conversation))) yield* runEnded(input, conversation, present)
    else yield finished(input, { type: 'success' })
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    const refusal = error instanceof Error ? refusalOf(error) : undefined
    // The client gets the first error, and this one has its cause.
    const state = await threads.read(input.threadId).catch(() => undefined)
    const { messages } = conversation ?? input
    if (state) yield* snapshots(messages, new Conversation(present, state).messages)
    if (refusal) yield runError(refusal.message, name)
    else {
      if (!signal.aborted) report(error)
      yield runError(turnErrorText(present, { name, message }))
    }
  }
}

/** Whether it answers a question that is no longer open. The run must still finish, because only then the client drops its questions. */
function isLate({ resume }: RunInput, { end }: Conversation): boolean {
  return resume.length > 0 && end?.type !== 'turn-waiting'
}

/**
 * Updates the client to the messages of the conversation. A run that replaces messages always tells them: the runtime of CopilotKit repeats the events of
 * all runs to a page that is loaded.
 */
function* caughtUp(
  { messages, state }: RunInput,
  conversation: Conversation,
  client: ClientState,
  isReplacement: boolean,
): Generator<AgUiEvent, void> {
  if (isReplacement || !isUpToDate(messages, conversation.messages)) yield* snapshots(messages, conversation.messages)
  yield* conversation.activities
  const { plan } = conversation
  if (plan.length > 0 && JSON.stringify(state?.plan) !== JSON.stringify(plan)) yield client.set('plan', plan)
}

/** Waits until the turn of an added message begins. */
async function joined({ threads, present, input, signal }: RunRequest, applied: Applied): Promise<Begun> {
  if ('error' in applied) throw applied.error
  if (!('sent' in applied)) return applied
  const { threadId } = input
  const first = await firstOf(applied.sent.events({ signal }))
  const turn = first && (await threads.turn(threadId, first.turn))
  const state = await threads.read(threadId)
  const at = state.messages.findIndex(({ id }) => id === applied.messageId)
  // Everything after the message is streamed, even if it already exists.
  const messages = at < 0 ? state.messages : state.messages.slice(0, at + 1)
  const conversation = new Conversation(present, { ...state, messages, settled: [], interrupts: [] })
  return { conversation, after: first?.cursor, turn }
}

async function firstOf(events: AsyncIterable<ThreadEvent>): Promise<ThreadEvent | undefined> {
  for await (const event of events) return event
  return undefined
}
