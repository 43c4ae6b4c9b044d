/** The updates for a reader of a turn, independent of any protocol. */

import type {
  FinishReason,
  Json,
  JsonSchema,
  Progress,
  ToolCall,
  ToolMessage,
  Usage,
  UserMessage,
} from '@meanwhile/core'
import type { EndStatus, ErrorInfo } from '@meanwhile/threads'

/**
 * The parts of a turn and of its steps come in this order:
 *
 *     turn-start (step-start (part | call | progress | result | inner call | question)* step-end | user-message)* (turn-waiting | turn-end | turn-outdated)
 *
 * A step begins with its first part, so a step without content is not sent. `step-reset` removes all parts of the open step.
 */
export type TurnUpdate =
  /** Always the first, and sent once. `message` is the user message; a run without a thread does not have it. */
  | {
      readonly type: 'turn-start'
      readonly turn: string
      readonly messageId?: string
      readonly message?: UserMessage
      readonly display?: Json
    }
  /** `step`: from 1 in each turn, without gaps. */
  | { readonly type: 'step-start'; readonly step: number }
  /** All parts of the open step are removed: they are sent again, or were not valid. The step itself stays open. */
  | { readonly type: 'step-reset' }
  | { readonly type: 'step-end'; readonly step: number }
  /** `id` is unique in the turn, except that a part which replaces a removed one has the same id. */
  | { readonly type: 'part-start'; readonly part: PartType; readonly id: string }
  | { readonly type: 'part-delta'; readonly part: PartType; readonly id: string; readonly delta: string }
  | { readonly type: 'part-end'; readonly part: PartType; readonly id: string }
  /** The model begins to write a call. */
  | { readonly type: 'call-start'; readonly callId: string; readonly toolName: string }
  /** `delta`: a piece of the input's JSON text, as the model writes it. A call that is sent as a whole has none. */
  | { readonly type: 'call-delta'; readonly callId: string; readonly delta: string }
  /**
   * The call is committed, with its whole input. Sent again when the call was answered and is running again. `isEarly`: it is not committed yet, and its
   * tool runs. `isTold`: it is committed now, as it was sent early.
   */
  | { readonly type: 'call'; readonly call: ToolCall; readonly isEarly?: true; readonly isTold?: true }
  /** `isEarly`: the message with the call is not committed yet. */
  | { readonly type: 'call-entered'; readonly callId: string; readonly toolName: string; readonly isEarly: boolean }
  /** Progress that the tool reports. */
  | {
      readonly type: 'call-progress'
      readonly callId: string
      readonly toolName: string
      readonly progress: Progress
      readonly isEarly: boolean
    }
  /** The result exists, and counts as soon as the message with the call is committed. */
  | { readonly type: 'call-settled'; readonly callId: string; readonly toolName: string }
  /** `revised`: the call had another result, which is no longer valid. `isDenied`: it did not run, because it was denied.
   * `isRunning`: it is the first result of a background call, whose work has begun. `isEarly`: the message with the call is not committed yet. */
  | {
      readonly type: 'call-result'
      readonly message: ToolMessage
      readonly revised?: true
      readonly isDenied?: true
      readonly isRunning?: true
      readonly isEarly?: true
    }
  /** A call inside a call that a human is asked about, so it has its own card. Sent again if its input is another one. */
  | { readonly type: 'inner-call'; readonly call: InnerCall }
  /** A call inside a call that has a card has ended. */
  | { readonly type: 'inner-result'; readonly id: string; readonly message: ToolMessage; readonly isDenied?: true }
  /** The question of `approve` about the call of a card was answered. May be sent again, with a reason. */
  | ({ readonly type: 'card-answer' } & CardAnswer)
  /** A question is open. Sent again if the input on its card has changed since. Not sent while the card asks another question. */
  | { readonly type: 'question'; readonly question: Question }
  /** A user message that arrived while the turn was running: sent before the next step, or at the end of the turn, then within its empty step. */
  | { readonly type: 'user-message'; readonly id: string; readonly message: UserMessage; readonly display?: Json }
  /** The turn continues: with an answer, after the end of its process, or with a retry. */
  | { readonly type: 'turn-resumed'; readonly cause: 'answer' | 'recovery' | 'retry' }
  /**
   * The last update: after the end of a process, steps before the open one are no longer valid. Read the turn again from
   * its beginning to get the valid ones.
   */
  | { readonly type: 'turn-outdated' }
  /** The turn stops here until it gets an answer. `questions`: all open questions. */
  | { readonly type: 'turn-waiting'; readonly questions: readonly Question[] }
  /** `finishReason`: that of the last message of the model, if there is one. */
  | {
      readonly type: 'turn-end'
      readonly status: EndStatus
      readonly error?: ErrorInfo
      readonly finishReason?: FinishReason
      readonly usage?: Usage
    }

export type PartType = 'text' | 'reasoning'

/** A question that waits for its answer. */
export interface Question {
  /** The id of the interrupt: answers use it as their key. */
  readonly id: string
  readonly kind: QuestionKind
  readonly payload: Json
  /** The JSON Schema of the answer. */
  readonly answerSchema?: JsonSchema
  /** The call of this turn that asks, or that contains the question. Absent: a middleware asks, outside of any call. */
  readonly callId?: string
  /** The name of that call's tool. */
  readonly toolName?: string
  /** The card of the call that asks. Absent: the question is about no input, and is not asked inside a call. */
  readonly card?: QuestionCard
}

/** The card of a question. */
export interface QuestionCard {
  /** The id of the card. */
  readonly id: string
  /** The names of the calls, outermost first. Only of a call inside a call. */
  readonly title?: string
  /** The name of the tool. Absent: the question is about no input, so the card does not exist. */
  readonly toolName?: string
  /** The input in the question: exactly this is allowed. */
  readonly input?: Json
}

/** The answer to an approval. */
export interface CardAnswer {
  /** The id of the card. */
  readonly id: string
  /** The id of the question. */
  readonly question: string
  readonly isAllowed: boolean
  /** Why the call was denied. */
  readonly reason?: string
}

/** A call inside a call, as its card shows it. */
export interface InnerCall extends QuestionCard {
  readonly title: string
  readonly toolName: string
  readonly input: Json
  /** The id of the call of the turn that contains it. */
  readonly callId: string
}

/**
 * - `approval`: the middleware `approve` asks whether a call may run.
 * - `client-call`: the call of a tool without `execute`; the answer is its output.
 * - `other`: all other questions. Only their own schema defines the answer.
 */
export type QuestionKind = 'approval' | 'client-call' | 'other'
