/** One AG-UI run: applies its request to a thread, and streams the events to the client. */

import { type Answers, type Json, UnknownInterruptError } from '@meanwhile/core'
import type { ThreadEvent, ThreadState, Threads, Turn } from '@meanwhile/threads'
import { answersBy, checkedBy, EditRefusedError } from '../approvals.ts'
import { checkFiles, type FileRules } from '../page-files.ts'
import { type Present, turnErrorText } from '../present.ts'
import { refusalOf } from '../refusals.ts'
import type { Question } from '../turn/turn-update.ts'
import { Conversation } from './conversation.ts'
import { answerOf, resultOf } from './interrupts.ts'
import { type RunInput, resultsIn, type Said, saidIn } from './run-input.ts'
import { isUpToDate, snapshots } from './snapshots.ts'
import { turnOfStep } from './step-messages.ts'
import { finished, planned, runEnded, runError, runStarted, told } from './stream.ts'
import type { AgUiEvent } from './wire.ts'

export interface RunRequest {
  readonly threads: Threads
  readonly present: Present
  /** Which files a message may have. */
  readonly files: FileRules | false
  readonly input: RunInput
  readonly context: unknown
  /** Returns who answers. */
  readonly signedBy: () => unknown
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** A turn to stream, and the state of the thread that the client has at its start. */
interface Begun {
  readonly conversation: Conversation
  /** The cursor of the thread up to which the conversation is complete. */
  readonly after: string | undefined
  /** Absent: no turn is running. */
  readonly turn?: Turn | undefined
}

/** What a request has done to its thread. */
export type Applied =
  | Begun
  /** It has added this message. */
  | { readonly messageId: string; readonly sent: Turn }
  /** The thread has refused it: the stream tells the client. */
  | { readonly error: unknown }

/**
 * Applies a request to its thread. Errors of the thread are returned, so that the client gets its messages with them, except those that are an answer
 * to the request only.
 *
 * @throws {UnknownInterruptError} It answers a turn that was replaced.
 * @throws {FileRefusedError} It adds a message with a file that is not admitted.
 * @throws {QueueFullError} Too many messages wait.
 * @throws {EditRefusedError} An answer changes the input of a call.
 */
export async function apply(request: RunRequest): Promise<Applied> {
  const { threads, files, input } = request
  const failed = (error: unknown) => {
    if (error instanceof EditRefusedError || (error instanceof Error && refusalOf(error)?.status === 429)) throw error
    return { error }
  }
  const state = await threads.read(input.threadId).catch(failed)
  if ('error' in state) return state
  if (answersReplaced(input, state)) throw new UnknownInterruptError(input.resume.map(({ interruptId }) => interruptId))
  checkFiles(newMessage(input, state)?.message.content ?? '', files)
  return begin(request, state).catch(failed)
}

export async function* runEvents(request: RunRequest, applied: Applied): AsyncGenerator<AgUiEvent, void> {
  const { threads, present, input, signal } = request
  let conversation: Conversation | undefined
  yield runStarted(input)
  try {
    const { turn, after, ...begun } = await joined(request, applied)
    conversation = begun.conversation
    yield* caughtUp(input, conversation)
    if (turn) yield* told(turn.events({ signal }), conversation, after, input.state)
    while (turn && conversation.isOutdated) {
      const { messages } = conversation
      const state = await threads.read(input.threadId)
      conversation = new Conversation(present, state)
      yield* snapshots(messages, conversation.messages)
      yield* told(turn.events({ signal }), conversation, state.cursor, input.state)
    }
    // A deleted thread streams nothing more: this throws.
    if (turn && !conversation.end) await threads.turn(input.threadId, turn.id)
    if (turn || (conversation.end && !isLate(input, conversation))) yield* runEnded(input, conversation, present)
    else yield finished(input, { type: 'success' })
  } catch (error) {
    const state = await threads.read(input.threadId).catch(() => undefined)
    const { messages } = conversation ?? input
    if (state) yield* snapshots(messages, new Conversation(present, state).messages)
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    const refusal = error instanceof Error ? refusalOf(error) : undefined
    if (refusal) yield runError(refusal.message, name)
    else yield runError(turnErrorText(present, { name, message }))
  }
}

/** Whether it answers a question that is no longer open. The run must still finish, because only then the client drops its questions. */
function isLate({ resume }: RunInput, { end }: Conversation): boolean {
  return resume.length > 0 && end?.type !== 'turn-waiting'
}

/** Updates the client to the messages of the conversation. */
function* caughtUp({ messages, state }: RunInput, conversation: Conversation): Generator<AgUiEvent, void> {
  if (!isUpToDate(messages, conversation.messages)) yield* snapshots(messages, conversation.messages)
  const { plan } = conversation
  if (plan.length > 0 && JSON.stringify(state.plan) !== JSON.stringify(plan)) yield planned(conversation, state)
}

/** Whether the client shows a turn that the thread no longer has, and answers it. The calls of the turn that replaced it may have the same ids. */
function answersReplaced(input: RunInput, state: ThreadState): boolean {
  const shown = turnOfStep(input.messages.findLast(({ role }) => role === 'assistant')?.id)
  if (shown === undefined || state.turns.some(({ id }) => id === shown)) return false
  return input.resume.length > 0 || answersIn(input, new Conversation({}, state)) !== undefined
}

async function begin(request: RunRequest, state: ThreadState, hasAnswered = false): Promise<Applied> {
  const { threads, present, input, context, signal } = request
  const { threadId, rewind: replacing } = input
  const conversation = new Conversation(present, state)
  const after = state.cursor
  const answers = answersIn(input, conversation)
  if (answers && answers !== 'stop') {
    try {
      const signed = answersBy(
        checkedBy(await request.signedBy()),
        answers,
        questionsOf(conversation),
        present.edits ?? false,
      )
      return { conversation, after, turn: await threads.answer(threadId, signed, { context }) }
    } catch (error) {
      if (!(error instanceof UnknownInterruptError) || hasAnswered) throw error
      // Another client was faster, so the request is read again with the new state.
      return begin(request, await threads.read(threadId), true)
    }
  }
  if (answers === 'stop') await threads.stop(threadId, { signal })
  if (input.isRetry) return { conversation, after, turn: await threads.retry(threadId, { context }) }
  const added = newMessage(input, state)
  if (added) {
    const { id: messageId, message } = added
    const options = { messageId, context, ...(replacing !== undefined && { replacing }) }
    return { messageId, sent: await threads.send(threadId, message, options) }
  }
  const goesOn = answers === 'stop' ? 'waiting' : 'running'
  const active = state.turns.find(({ status }) => status === goesOn)
  return { conversation, after, turn: active && (await threads.turn(threadId, active.id)) }
}

/** The message that the request adds; undefined if the thread has it already. */
function newMessage(input: RunInput, { messages }: ThreadState): Said | undefined {
  const said = saidIn(input)
  return said && (input.rewind === said.id || messages.every(({ id }) => id !== said.id)) ? said : undefined
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

function questionsOf({ end }: Conversation): readonly Question[] {
  return end?.type === 'turn-waiting' ? end.questions : []
}

/** The answers of a request to the open questions; `stop` if the user gives none, and undefined if no question is open. */
function answersIn(input: RunInput, conversation: Conversation): Answers | 'stop' | undefined {
  const questions = questionsOf(conversation)
  const byId = new Map(questions.map((question): [string, Question] => [question.id, question]))
  const answers = new Map<string, Json>()
  for (const entry of input.resume) {
    const question = byId.get(entry.interruptId)
    // It is late: the question is no longer open.
    if (!question) continue
    const answer = answerOf(entry, question)
    if (answer === undefined) return 'stop'
    answers.set(question.id, answer)
  }
  const results = resultsIn(input)
  for (const question of questions.filter(({ kind }) => kind === 'client-call')) {
    const result = results.get(conversation.idOfCall(question.callId ?? ''))
    if (result !== undefined) answers.set(question.id, resultOf(result, question))
  }
  return answers.size > 0 ? Object.fromEntries(answers) : undefined
}
