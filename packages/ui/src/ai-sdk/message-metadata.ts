import type { Json, JsonSchema } from '@meanwhile/core'
import type { Question } from '../turn/turn-update.ts'

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
