/** Reads the request of a page. It comes from outside, so everything in it is validated. */

import { type Json, type PendingInterrupt, UnknownInterruptError, type UserMessage } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { ThreadDecision } from '@meanwhile/threads'
import { MalformedBodyError, storableJson } from '../body.ts'
import { checkFiles, type FileRules } from '../page-files.ts'
import { cardIdOf, wholePath } from '../turn/card.ts'
import { askedOnCards, cardOfQuestion, isAboutShown, questionOf } from '../turn/question-of.ts'
import type { Question } from '../turn/turn-update.ts'
import { displayOf, isUserPart, userMessageOf } from './user-message.ts'

/** The content of a POST. Only the last message in its body is used. */
export type ChatRequest = { readonly thread: string } & (
  | {
      readonly kind: 'send'
      readonly messageId: string
      readonly message: UserMessage
      /** What the page shows with the message. */
      readonly display: Json | undefined
      /** The id of the message that this one replaces; it may be its own. */
      readonly replacing: string | undefined
    }
  /** Another answer to this message is requested. */
  | { readonly kind: 'regenerate'; readonly messageId: string }
  | {
      readonly kind: 'answer'
      /** The id of the last message, which is the id of its turn. */
      readonly turn: unknown
      readonly cards: readonly Card[]
      /** The ids of the questions that the message shows. Undefined: its metadata does not say. */
      readonly shown: ReadonlySet<unknown> | undefined
      readonly answers: Readonly<Record<string, Json>>
    }
)

/** A card of the last message, as the page has it: its ids are texts, and what answers a question is JSON. */
type Card = Readonly<Record<string, unknown>> & {
  readonly toolCallId?: string
  readonly approval?: Readonly<Record<string, unknown>>
}

/** The request has the right form, and the thread has nothing that it can be about. */
export class ChatRequestError extends Error {
  override readonly name = 'ChatRequestError'
  /** The HTTP status. */
  readonly status: number

  constructor(message: string, status = 400) {
    super(message)
    this.status = status
  }
}

/**
 * @throws {MalformedBodyError} The request does not have the form that `useChat` sends.
 * @throws {FileRefusedError} The message has a file that is not admitted.
 */
export function chatRequest(body: unknown, files: FileRules | false): ChatRequest {
  if (!isRecord(body)) throw new MalformedBodyError('the body', 'a JSON object')
  const { id: thread, messages, trigger, messageId, answers = {} } = body
  if (typeof thread !== 'string') throw new MalformedBodyError('id', 'the id of the chat')
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (!isRecord(last)) throw new MalformedBodyError('messages', 'a list of messages')
  const at = `messages[${(messages as unknown[]).length - 1}]`
  if (!Array.isArray(last.parts)) throw new MalformedBodyError(`${at}.parts`, 'a list')
  if (last.role === 'assistant') {
    const cards = last.parts.flatMap((part, index) => (isRecord(part) ? [cardIn(part, `${at}.parts[${index}]`)] : []))
    return { thread, kind: 'answer', turn: last.id, cards, shown: shownIn(last.metadata), answers: answersIn(answers) }
  }
  if (last.role !== 'user') throw new MalformedBodyError(`${at}.role`, 'user or assistant')
  if (typeof last.id !== 'string') throw new MalformedBodyError(`${at}.id`, 'a text')
  const message = userMessageOf(last)
  if (!message) {
    const misfit = last.parts.findIndex((part) => !isUserPart(part))
    if (misfit >= 0) throw new MalformedBodyError(`${at}.parts[${misfit}]`, 'a text, a file or data')
    throw new MalformedBodyError(`${at}.parts`, 'a list with a text or a file')
  }
  if (messageId != null && typeof messageId !== 'string') throw new MalformedBodyError('messageId', 'a text')
  // The thread has this message.
  if (trigger === 'regenerate-message') return { thread, kind: 'regenerate', messageId: last.id }
  checkFiles(message.content, files)
  return {
    thread,
    kind: 'send',
    messageId: last.id,
    message,
    display: displayOf(last, at),
    replacing: messageId ?? undefined,
  }
}

/**
 * What a stop does to the queued messages. A stop needs no body.
 *
 * @throws {MalformedBodyError} It is neither `keep` nor `drop`.
 */
export function queueIn(body: unknown): 'keep' | 'drop' {
  const { queue = 'keep' } = isRecord(body) ? body : {}
  if (queue !== 'keep' && queue !== 'drop') throw new MalformedBodyError('queue', 'keep or drop')
  return queue
}

/** @throws {MalformedBodyError} It names no message. */
export function messageIdIn(body: unknown): string {
  const { messageId } = isRecord(body) ? body : {}
  if (typeof messageId !== 'string') throw new MalformedBodyError('messageId', 'a text')
  return messageId
}

function answersIn(answers: unknown): Readonly<Record<string, Json>> {
  if (!isRecord(answers))
    throw new MalformedBodyError('answers', 'an object with an answer for the id of each question')
  return storableJson(answers, 'answers') as Readonly<Record<string, Json>>
}

function shownIn(metadata: unknown): ReadonlySet<unknown> | undefined {
  const { questions } = Object(metadata)
  return Array.isArray(questions) ? new Set(questions.map((question) => Object(question).id)) : undefined
}

function cardIn(part: Readonly<Record<string, unknown>>, at: string): Card {
  const { toolCallId, approval } = part
  if (toolCallId !== undefined && typeof toolCallId !== 'string')
    throw new MalformedBodyError(`${at}.toolCallId`, 'a text')
  if (approval !== undefined && !isRecord(approval)) throw new MalformedBodyError(`${at}.approval`, 'an object')
  if (toolCallId !== undefined)
    for (const name of ['input', 'output']) storableJson(part[name] ?? null, `${at}.${name}`)
  return { ...part, ...(toolCallId !== undefined && { toolCallId }), ...(approval && { approval }) } as Card
}

/**
 * Returns the answers to the open questions: from the cards of the page, and those by id. `waiting`: the turn that waits. The cards of another turn
 * answer nothing, because their calls may have the same ids, and neither does a card that shows another input than its question, nor an output on a card
 * whose question the message does not show: it belongs to an earlier call with the same id. `decisions`: those of the thread.
 *
 * @throws {UnknownInterruptError} The question of a card is no longer open, is about another input, or was decided in another way.
 * @throws {ChatRequestError} There is no answer.
 */
export function answersTo(
  interrupts: readonly PendingInterrupt[],
  waiting: string | undefined,
  { turn, cards, shown, answers }: ChatRequest & { readonly kind: 'answer' },
  decisions: readonly ThreadDecision[],
): Readonly<Record<string, Json>> {
  const all = turn === waiting ? interrupts.map(questionOf) : []
  const decided = decisions.filter((one) => one.turn === turn)
  const contrary = cards.filter((card) => isContrary(card, all, decided))
  if (contrary.length > 0) throw new UnknownInterruptError(contrary.map(({ toolCallId = '' }) => toolCallId))
  const open = all.filter((question) => isAboutShown(question, inputsShown(question, cards)))
  const others = all.filter((question) => Object.hasOwn(answers, question.id) && !open.includes(question))
  if (others.length > 0) throw new UnknownInterruptError(others.map(({ id }) => id))
  const byCards = answeredByCards(open).flatMap(({ id, kind, cardId }): [string, Json][] => {
    // A client adds a second card to a later step if the input has changed.
    const own = cards.filter(({ toolCallId }) => toolCallId === cardId)
    const given = shown?.has(id) === false ? [] : own.slice(-1).map(outputIn)
    const [answer] = (kind === 'approval' ? own.map((one) => approvalIn(one, id)) : given).filter(isGiven)
    return answer === undefined ? [] : [[id, answer]]
  })
  const given = { ...Object.fromEntries(byCards), ...answers }
  if (Object.keys(given).length > 0) return given
  const asked = open.filter(({ id }) => shown?.has(id) !== false)
  const late = cards.flatMap((card) => (isLate(card, asked) ? [card.toolCallId ?? ''] : []))
  if (late.length > 0) throw new UnknownInterruptError(late)
  throw new ChatRequestError('This answers no open question.')
}

/**
 * The questions that cards can answer. The card of a call that asks in its own words answers its first question with its output, unless it waits for
 * another answer.
 */
function answeredByCards(
  open: readonly Question[],
): readonly { readonly id: string; readonly kind: Question['kind']; readonly cardId: string }[] {
  const first = new Map<string, { readonly id: string; readonly kind: Question['kind']; readonly cardId: string }>()
  const others = open.filter(({ kind, card }) => kind === 'other' && !card)
  for (const question of [...askedOnCards(open), ...others]) {
    const { id, kind } = question
    const cardId = cardOfQuestion(question)
    if (cardId !== undefined && !first.has(cardId)) first.set(cardId, { id, kind, cardId })
  }
  return [...first.values()]
}

/** The inputs on the cards that ask this question. */
function inputsShown({ id, kind, card }: Question, cards: readonly Card[]): readonly unknown[] {
  const own = cards.filter(({ toolCallId }) => toolCallId === card?.id)
  const asking = own.filter(({ approval }) => approval?.id === id)
  return (kind === 'client-call' ? own.slice(-1) : asking).map(({ input }) => input)
}

/** Whether the card answers a question that is no longer open. */
function isLate(card: Card, open: readonly Question[]): boolean {
  const { toolCallId, approval } = card
  if (card.state === 'approval-responded') return open.every(({ id }) => id !== approval?.id)
  return outputIn(card) !== undefined && open.every((question) => cardOfQuestion(question) !== toolCallId)
}

/** Whether the card decides what was decided in the other way, by another page. The page that sends it would show that it counts. */
function isContrary(card: Card, open: readonly Question[], decisions: readonly ThreadDecision[]): boolean {
  const { state, toolCallId, approval } = card
  if (state !== 'approval-responded' || open.some(({ id }) => id === approval?.id)) return false
  const known = decisions.findLast((one) => cardIdOf(wholePath(one)) === toolCallId)
  return known !== undefined && (known.decision === 'deny') === (approval?.approved === true)
}

function isGiven(answer: Json | undefined): answer is Json {
  return answer !== undefined
}

/** The output of a tool that the page has run itself. */
function outputIn({ state, output, errorText, preliminary }: Card): Json | undefined {
  if (state === 'output-error') return { error: typeof errorText === 'string' ? errorText : '' }
  if (state !== 'output-available' || preliminary === true) return undefined
  return output === undefined ? null : (output as Json)
}

function approvalIn({ state, approval }: Card, id: string): Json | undefined {
  if (state !== 'approval-responded' || approval?.id !== id) return undefined
  if (approval.approved === true) return { decision: 'allow' }
  const { reason } = approval
  return { decision: 'deny', ...(typeof reason === 'string' && reason !== '' && { reason }) }
}
