/** The messages of a chat as a page has them. */

import type { Json, JsonSchema } from '@meanwhile/core'
import type { FileUIPart, TextUIPart, UIMessage } from 'ai'
import type { Question } from '../turn/turn-update.ts'

/** A UI message of a chat: `useChat<ChatMessage>`. */
export type ChatMessage = UIMessage<ChatMetadata, ChatDataTypes>

/** Data that a page gets. `onData` of `useChat` gets `data-call`; `data-user-message` is a message that steers, in version 6. */
export type ChatDataTypes = {
  readonly call: CallState
  readonly 'user-message': { readonly parts: (TextUIPart | FileUIPart)[] }
}

/** What a page is told of a call while it is at work, beside its card. */
export interface CallState {
  readonly toolCallId: string
  /** `settled`: the result is there, and is shown as soon as the model has finished. */
  readonly state: 'running' | 'settled'
  /** Whether the model was still writing its response. */
  readonly isEarly: boolean
}

/** The `metadata` of the UI message of a turn. */
export interface ChatMetadata {
  readonly status: 'running' | 'waiting' | 'completed' | 'stopped' | 'failed'
  /** What waits for an answer; empty unless the turn waits. */
  readonly questions: readonly ChatQuestion[]
}

/**
 * A question. One of `approve` is also a card that waits for an approval, and one of a tool without `execute` a card that waits for its
 * output. All others are answered in the body of a request: `sendMessage(undefined, { body: { answers: { [id]: answer } } })`.
 */
export interface ChatQuestion {
  readonly id: string
  readonly payload: Json
  /** JSON Schema of the answer. */
  readonly answerSchema?: JsonSchema
  /** The card that it belongs to. */
  readonly toolCallId?: string
}

export function chatQuestion({ id, payload, answerSchema, callId }: Question): ChatQuestion {
  return {
    id,
    payload,
    ...(answerSchema && { answerSchema }),
    ...(callId !== undefined && { toolCallId: callId }),
  }
}
