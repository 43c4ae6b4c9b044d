import type { Json, PathPart, PendingInterrupt } from '@meanwhile/core'
import { isRecord, sameInput } from '@meanwhile/core/calls'
import { cardIdOf, titleOf } from './card.ts'
import type { Question, QuestionCard, QuestionKind } from './turn-update.ts'

export function questionOf(pending: PendingInterrupt): Question {
  const { id, address, payload, answerSchema } = pending
  const kind = kindOf(pending)
  const path = address.flatMap((part): PathPart[] => (isCall(part) ? [{ agent: part.tool, callId: part.callId }] : []))
  const [outermost, ...inner] = path
  const isOfCard = kind !== 'other' || inner.length > 0
  return {
    id,
    kind,
    payload,
    ...(answerSchema && { answerSchema }),
    ...(outermost && { callId: outermost.callId, toolName: outermost.agent }),
    ...(isOfCard && { card: cardOf(path, kind, payload) }),
  }
}

/**
 * The questions that the cards ask: those about the input of a call. If several are about calls with the same path, the card asks the first one until it
 * is answered.
 */
export function askedOnCards(questions: readonly Question[]): readonly Question[] {
  const first = new Map<string, Question>()
  for (const question of questions) {
    const { kind, card } = question
    if (kind !== 'other' && card && !first.has(card.id)) first.set(card.id, question)
  }
  return [...first.values()]
}

/** The id of the card of the call that asks, or that contains the question. Undefined if it is asked outside of any call. */
export function cardOfQuestion({ card, callId }: Pick<Question, 'card' | 'callId'>): string | undefined {
  return card?.id ?? (callId === undefined ? undefined : cardIdOf([{ callId }]))
}

/**
 * Whether the question is about one of the inputs that a page shows for it. A process that takes a turn over may repeat a model call whose question a page
 * has seen: then the new question may have the same id, about another input. `shown`: empty if the page has no card of the question.
 */
export function isAboutShown({ card }: Question, shown: readonly unknown[]): boolean {
  const isAsked = (input: unknown) => input === undefined || sameInput(input, card?.input)
  return card?.input === undefined || shown.length === 0 || shown.some(isAsked)
}

function cardOf(path: readonly PathPart[], kind: QuestionKind, payload: Json): QuestionCard {
  const id = cardIdOf(path)
  const title = path.length > 1 && { title: titleOf(path) }
  if (kind === 'other') return { id, ...title }
  const { tool, name = tool, input } = Object(payload)
  return { id, ...title, toolName: String(kind === 'approval' ? tool : name), ...(input !== undefined && { input }) }
}

/** The asker decides first, then the payload: a tool may ask a question with the same payload as another. */
function kindOf({ address, payload }: PendingInterrupt): QuestionKind {
  const asker = address.at(-1)
  if (!asker || !isRecord(payload)) return 'other'
  if ('middleware' in asker) {
    const isAboutCall = isCall(address.at(-2)) && typeof payload.tool === 'string'
    // A copy of `approve` may have another name.
    const isApproval = asker.middleware === 'approve' || Array.isArray(payload.decisions)
    return isApproval && isAboutCall ? 'approval' : 'other'
  }
  if (!isCall(asker)) return 'other'
  return payload.type === 'tool-call' && payload.id === asker.callId && payload.name === asker.tool
    ? 'client-call'
    : 'other'
}

type AddressPart = PendingInterrupt['address'][number]

function isCall(part: AddressPart | undefined): part is Extract<AddressPart, { readonly callId: string }> {
  return part !== undefined && 'callId' in part
}
