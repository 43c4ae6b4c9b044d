/** The types of the messages of a chat, for the page. */

import type { Json, JsonSchema, Usage } from '@meanwhile/core'
import type { DataUIPart, FileUIPart, TextUIPart, UIDataTypes, UIMessage } from 'ai'
import { cardOfQuestion } from '../turn/question-of.ts'
import type { Question } from '../turn/turn-update.ts'

/** A UI message of a chat: `useChat<ChatMessage>`. */
export type ChatMessage = UIMessage<ChatMetadata, ChatDataTypes>

/**
 * Data parts for a page. `onData` of `useChat` receives `data-call`; in version 6, `data-user-message` is a steering message. In version 7 `data-steering`
 * follows a part `steering-message` with the same id, if that has metadata or data.
 */
export type ChatDataTypes = {
  readonly call: CallState
  readonly 'user-message': {
    readonly metadata?: unknown
    readonly parts: readonly (TextUIPart | FileUIPart | DataUIPart<UIDataTypes>)[]
  }
  readonly steering: { readonly metadata?: unknown; readonly parts: readonly DataUIPart<UIDataTypes>[] }
}

/** The state of a running call, in addition to its card. */
export interface CallState {
  /** The id of the call. */
  readonly toolCallId: string
  /** `settled`: the result exists. It counts as soon as the model has finished. */
  readonly state: 'running' | 'settled'
  /** Whether the model was still writing its response. */
  readonly isEarly: boolean
}

/** The `metadata` of the UI message of a turn. A message of the user has only its own metadata, and `queued`. */
export interface ChatMetadata {
  /** Set while a message of the user waits in the queue: its turn has not begun. The server sets it, and ignores it in what a page sends. */
  readonly queued?: true
  /** The status of the turn. `waiting`: it waits for an answer. */
  readonly status: 'running' | 'waiting' | 'completed' | 'stopped' | 'failed'
  /** The questions that wait for an answer; empty unless the turn waits. */
  readonly questions: readonly ChatQuestion[]
  /** The tokens that the turn has used, once it has ended; absent if none were reported. */
  readonly usage?: Usage
}

/**
 * A question. A question of `approve` is also shown as a card that waits for an approval, and the call of a tool without `execute` as a card that
 * waits for its output. The input of the card is that in the payload, and a call inside a call has its own card. All other questions are answered in the body of a request: `sendMessage(undefined, { body: { answers: { [id]: answer } } })`.
 */
export interface ChatQuestion {
  /** The id of the question, which names its answer. */
  readonly id: string
  /** The question, as the tool or middleware gave it to `interrupt`. */
  readonly payload: Json
  /** The JSON Schema of the answer. */
  readonly answerSchema?: JsonSchema
  /**
   * The card of the call that asks. Inside a call it is the path of the call: the ids of the calls, outermost first, joined by `/`. A call there has a card
   * only if the question is about its input.
   */
  readonly toolCallId?: string
  /** The names of the calls, outermost first: `researcher › searcher › buy`. Only of a question inside a call. */
  readonly title?: string
}

export function chatQuestion(question: Question): ChatQuestion {
  const { id, payload, answerSchema, card } = question
  const toolCallId = cardOfQuestion(question)
  return {
    id,
    payload,
    ...(answerSchema && { answerSchema }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(card?.title !== undefined && { title: card.title }),
  }
}
