/** Applies the request of an AG-UI run to its thread. */

import { type Answers, type Json, UnknownInterruptError } from '@meanwhile/core'
import type { ThreadRequest, ThreadState, Threads, Turn } from '@meanwhile/threads'
import { answersBy } from '../approvals.ts'
import type { Action } from '../handler-options.ts'
import { checkFiles, type FileRules } from '../page-files.ts'
import type { Present } from '../present.ts'
import { askedOnCards, isAboutShown } from '../turn/question-of.ts'
import type { Question } from '../turn/turn-update.ts'
import type { Visit } from '../visit.ts'
import { Conversation } from './conversation.ts'
import { cutIn, isOver } from './cut-lists.ts'
import { answerOf, resultOf } from './interrupts.ts'
import { argumentsIn, type RunInput, resultsIn, type Said, saidIn } from './run-input.ts'
import { resultId } from './shown-messages.ts'
import { turnOfCall, turnOfMessage } from './step-messages.ts'

/** A request, and who makes it. */
export interface ThreadChange<Context> {
  readonly threads: Threads<Context>
  readonly visit: Visit<Context>
  readonly present: Present
  /** Which files a message may have. */
  readonly files: FileRules | false
  readonly input: RunInput
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** A turn to stream, and the state of the thread that the client has at its start. */
export interface Begun {
  readonly conversation: Conversation
  /** The cursor of the thread up to which the conversation is complete. */
  readonly after: string | undefined
  /** Absent: no turn is running. */
  readonly turn?: Turn | undefined
}

/** What a request has done to its thread. */
export type Applied =
  | Begun
  /** It has added this message, or replaced others by it. */
  | { readonly messageId: string; readonly sent: Turn; readonly isReplacement: boolean }
  /** The thread has refused it: the stream tells the client. */
  | { readonly error: unknown }

/**
 * Applies a request to its thread, if `open` admits it. Errors of the thread are returned, so that the client gets its messages with them, except
 * those that have their own response.
 *
 * @throws {UnknownInterruptError} It answers a turn that was replaced.
 * @throws {TurnChangedError} It would change another turn than `open` was shown.
 * @throws {FileRefusedError} It adds a message with a file that is not admitted.
 * @throws {QueueFullError} Too many messages wait.
 * @throws {TooManyTurnsError} Too many turns wait.
 * @throws {EditRefusedError} An answer changes the input of a call.
 */
export async function apply<Context>(change: ThreadChange<Context>): Promise<Applied> {
  const { threads, visit, files, input } = change
  await visit.ask(...requestedBy(input))
  try {
    const state = await inThread(() => threads.read(input.threadId))
    if (answersReplaced(input, state))
      throw new UnknownInterruptError(input.resume.map(({ interruptId }) => interruptId))
    checkFiles(newMessage(input, state)?.message.content ?? '', files)
    return await begin(change, state)
  } catch (error) {
    if (error instanceof LateCut) return apply(change)
    if (error instanceof ThreadRefusal) return { error: error.cause }
    throw error
  }
}

/** What the request says that it does. Results of tools may be an answer, or only the end of the client's messages: the thread shows it. */
function requestedBy(input: RunInput): readonly [action: Action, change: ThreadRequest | undefined] {
  if (input.resume.length > 0) return ['answer', ANSWER]
  if (input.isRetry) return ['retry', RETRY]
  const said = saidIn(input)
  return said ? messageRequest(input, said) : ['read', undefined]
}

const ANSWER = { type: 'answer' } as const
const RETRY = { type: 'retry' } as const
const STOP = { type: 'stop' } as const

/** `closes`: the message also stops the turn that waits. */
function messageRequest({ rewind, isRegeneration }: RunInput, { id: messageId }: Said, closes = false) {
  const replacing = rewind ?? (isRegeneration ? messageId : undefined)
  const change = {
    type: 'send',
    messageId,
    ...(replacing !== undefined && { replacing }),
    ...(closes && { whenAsking: 'close' as const }),
  } as const
  if (rewind !== undefined) return ['rewind', change] as const
  return [isRegeneration ? 'regenerate' : 'send', change] as const
}

/** An error of the thread that the stream tells the client. */
class ThreadRefusal extends Error {}

/** Another request has replaced the turn that the client has cut: the client has not seen the one that stands there now. */
class LateCut extends Error {}

/** Those that have their own response. */
const RESPONSES: ReadonlySet<string> = new Set(['QueueFullError', 'ThreadChangedError', 'TooManyTurnsError'])

async function inThread<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Error && RESPONSES.has(cause.name)) throw cause
    throw new ThreadRefusal('the thread has refused the request', { cause })
  }
}

/** Whether the client answers a turn that the thread no longer has. A result that the server has sent is not an answer. */
function answersReplaced(input: RunInput, { turns }: ThreadState): boolean {
  const isGone = (turn: string | undefined) => turn !== undefined && turns.every(({ id }) => id !== turn)
  const given = [...resultsIn(input)].filter(([toolCallId, { id }]) => id !== resultId(toolCallId))
  if (given.some(([toolCallId]) => isGone(turnOfCall(toolCallId)))) return true
  const shown = turnOfMessage(input.messages.findLast(({ role }) => role === 'assistant')?.id)
  return input.resume.length > 0 && isGone(shown)
}

async function begin<Context>(
  request: ThreadChange<Context>,
  state: ThreadState,
  hasAnswered = false,
): Promise<Applied> {
  const { threads, visit, present, input, signal } = request
  const { threadId } = input
  const conversation = new Conversation(present, state)
  const after = state.cursor
  const answers = answersIn(input, conversation)
  if (answers && answers !== 'stop') {
    await visit.ask('answer', ANSWER)
    visit.checkTurn(waitingIn(state))
    const signed = answersBy(await visit.signature(), answers, questionsOf(conversation), present.edits ?? false)
    const turn = await inThread(() => answered(threads, threadId, signed, visit.continuing, hasAnswered))
    // Another client was faster, so the request is read again with the new state.
    return turn ? { conversation, after, turn } : begin(request, await inThread(() => threads.read(threadId)), true)
  }
  const stops = answers === 'stop'
  const cut = cutIn(input, state)
  const said = cut?.said ?? newMessage(input, state) ?? messageToAnswerAgain(input, state)
  // A request that is refused changes nothing: a message stops the turn in the change that adds it, and a turn that waits cannot be retried.
  if (stops && !said && !input.isRetry)
    await visit.make('stop', STOP, (expected) => inThread(() => threads.stop(threadId, { signal, expected })))
  if (input.isRetry) {
    const turn = await visit.make('retry', RETRY, (expected) =>
      inThread(() => threads.retry(threadId, { ...visit.continuing, expected })),
    )
    return { conversation, after, turn }
  }
  if (said) {
    const [action, change] = messageRequest({ ...input, ...cut?.asks }, said, stops)
    if (stops || cut) await visit.askInstead(action, change)
    const { type: _, ...ids } = change
    const sent = await visit.make(action, change, async (expected) => {
      if (cut && expected.turn?.id !== cut.turn) throw new LateCut('another request has replaced the turn')
      const options = { ...(await visit.sending()), ...ids, display: displayOf(input), expected }
      return inThread(() => threads.send(threadId, said.message, options))
    })
    return { messageId: said.id, sent, isReplacement: 'replacing' in change }
  }
  const goesOn = stops ? 'waiting' : 'running'
  const active = state.turns.find(({ status }) => status === goesOn)
  return { conversation, after, turn: active && (await inThread(() => threads.turn(threadId, active.id))) }
}

function waitingIn({ turns }: ThreadState): string | undefined {
  return turns.find(({ status }) => status === 'waiting')?.id
}

/** Undefined if a question is no longer open, and `isLast` is false. */
async function answered<Context>(
  threads: Threads<Context>,
  thread: string,
  answers: Answers,
  options: { readonly context?: Context },
  isLast: boolean,
): Promise<Turn | undefined> {
  try {
    return await threads.answer(thread, answers, options)
  } catch (error) {
    if (!(error instanceof UnknownInterruptError) || isLast) throw error
    return undefined
  }
}

/** The message that the request adds; undefined if the thread has it already, or must have it. */
function newMessage(input: RunInput, { messages }: ThreadState): Said | undefined {
  const said = input.rewind === undefined && input.isRegeneration ? undefined : saidIn(input)
  return said && (input.rewind === said.id || messages.every(({ id }) => id !== said.id)) ? said : undefined
}

function questionsOf({ end }: Conversation): readonly Question[] {
  return end?.type === 'turn-waiting' ? end.questions : []
}

/**
 * The message to which the client wants another answer: the last one of the client, and of the thread the last one of the user, whose turn has ended. The
 * thread's own message is used.
 */
function messageToAnswerAgain(input: RunInput, { turns, messages }: ThreadState): Said | undefined {
  const said = saidIn(input)
  const newest = turns.at(-1)
  if (!input.isRegeneration || !newest || !isOver(newest) || newest.messageId !== said?.id) return undefined
  const { message, display } = messages.find(({ id }) => id === said.id) ?? {}
  // The same request has arrived twice.
  const isRepeated = Object(display).runId === input.runId
  return message?.role === 'user' && !isRepeated ? { id: said.id, message } : undefined
}

/** What is kept with the message of a request: which run has added it. */
function displayOf({ runId }: RunInput): Json {
  return { runId }
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
  for (const { question, toolCallId, result } of resultsFor(input, conversation)) {
    // A result for another input is late, too.
    const isMeant = isAboutShown(question, argumentsIn(input, toolCallId).slice(-1))
    if (isMeant) answers.set(question.id, resultOf(result, question))
  }
  return answers.size > 0 ? Object.fromEntries(answers) : undefined
}

interface ResultFor {
  readonly question: Question
  readonly toolCallId: string
  readonly result: string
}

/** The results of calls that wait for the client. */
function resultsFor(input: RunInput, conversation: Conversation): readonly ResultFor[] {
  const results = resultsIn(input)
  return askedOnCards(questionsOf(conversation)).flatMap((question): ResultFor[] => {
    const toolCallId = conversation.idOfCard(question) ?? ''
    const result = question.kind === 'client-call' ? results.get(toolCallId)?.content : undefined
    return result === undefined ? [] : [{ question, toolCallId, result }]
  })
}
