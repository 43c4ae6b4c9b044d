import { isRecord } from '@meanwhile/core/calls'
import { isCardOf } from '../turn/card.ts'
import type { ChatMetadata, ChatQuestion } from './message-metadata.ts'

/** The messages of a page, as far as {@link hasAllAnswers} reads them. */
export interface AnsweredChat {
  /** The messages of the thread. */
  readonly messages: readonly {
    readonly role: string
    readonly metadata?: unknown
    readonly parts: readonly object[]
  }[]
}

/**
 * Whether the last message is a turn that waits, and each of its cards that asks something has an answer: for `sendAutomaticallyWhen` of `useChat`.
 * Cards of earlier steps count, such as that of an agent that works in the background. A question in a tool's own words counts once its card has an
 * output, and questions without a card do not.
 */
export function hasAllAnswers({ messages }: AnsweredChat): boolean {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || !isWaiting(last.metadata)) return false
  const answered = last.metadata.questions.flatMap((question) => isAnswered(question, last.parts) ?? [])
  return answered.length > 0 && answered.every(Boolean)
}

function isWaiting(metadata: unknown): metadata is ChatMetadata {
  return isRecord(metadata) && metadata.status === 'waiting' && Array.isArray(metadata.questions)
}

/** Whether the card of a question has its answer. Undefined if the question is not the one that its card asks. */
function isAnswered({ id, toolCallId, payload }: ChatQuestion, parts: readonly object[]): boolean | undefined {
  const cards = parts.filter(isRecord).filter((part) => toolCallId !== undefined && part.toolCallId === toolCallId)
  const asking = cards.find(({ approval }) => isRecord(approval) && approval.id === id)
  if (asking) return asking.state === 'approval-responded'
  const card = cards.at(-1)
  if (!card || toolCallId === undefined) return undefined
  const { type, id: callId } = Object(payload)
  const { state, preliminary } = card
  const hasOutput = (state === 'output-available' && preliminary !== true) || state === 'output-error'
  if (type === 'tool-call' && isCardOf(toolCallId, String(callId))) return hasOutput
  return hasOutput || undefined
}
