/** What a reader of a turn is to be told, in the terms of no protocol. */

import type { Json, JsonSchema, Progress, ToolCall, ToolMessage, UserMessage } from '@meanwhile/core'
import type { EndStatus, ErrorInfo } from '@meanwhile/threads'

/**
 * The parts of a turn and of its steps come in this order:
 *
 *     turn-start (step-start (part | call | progress | result | question)* step-end | user-message)* (turn-waiting | turn-end | turn-outdated)
 *
 * A step begins with its first part, so a step in which nothing was said is not told. `step-reset` takes back all that was told of the open step.
 */
export type TurnUpdate =
  /** Always the first, and told once. `message` is what the user said; a run without a thread does not tell it. */
  | { readonly type: 'turn-start'; readonly turn: string; readonly messageId?: string; readonly message?: UserMessage }
  /** `step`: from 1 in each turn, without gaps. */
  | { readonly type: 'step-start'; readonly step: number }
  /** All parts of the open step are taken back: they are told again, or did not count. The step itself stays open. */
  | { readonly type: 'step-reset' }
  | { readonly type: 'step-end'; readonly step: number }
  /** `id` is unique in the turn, except that a part which takes the place of one that was taken back has the same. */
  | { readonly type: 'part-start'; readonly part: PartType; readonly id: string }
  | { readonly type: 'part-delta'; readonly part: PartType; readonly id: string; readonly delta: string }
  | { readonly type: 'part-end'; readonly part: PartType; readonly id: string }
  /** The model begins to write a call. */
  | { readonly type: 'call-start'; readonly callId: string; readonly toolName: string }
  /** `delta`: of the JSON text of the input, as the model writes it. A call that is told as a whole has none. */
  | { readonly type: 'call-delta'; readonly callId: string; readonly delta: string }
  /** The call stands, with its whole input. Told again when the call was answered, and is at work again. */
  | { readonly type: 'call'; readonly call: ToolCall }
  /** `isEarly`: the message with the call does not stand yet. */
  | { readonly type: 'call-entered'; readonly callId: string; readonly toolName: string; readonly isEarly: boolean }
  /** What the tool reports. */
  | {
      readonly type: 'call-progress'
      readonly callId: string
      readonly toolName: string
      readonly progress: Progress
      readonly isEarly: boolean
    }
  /** The result is there, and is told as soon as the message with the call stands. */
  | { readonly type: 'call-settled'; readonly callId: string; readonly toolName: string }
  /** `revised`: the call had another result, which counts no more. */
  | { readonly type: 'call-result'; readonly message: ToolMessage; readonly revised?: true }
  /** Somebody is asked. */
  | { readonly type: 'question'; readonly question: Question }
  /** The user has said this while the turn was running: told before the next step, or at the end of the turn, then within its empty step. */
  | { readonly type: 'user-message'; readonly id: string; readonly message: UserMessage }
  /** The turn goes on: with an answer, after the end of the process that worked on it, or because it was retried. */
  | { readonly type: 'turn-resumed'; readonly cause: 'answer' | 'recovery' | 'retry' }
  /**
   * The last one: after the end of a process, steps before the open one do not count any more. Only somebody who reads the turn again from
   * its beginning has what counts.
   */
  | { readonly type: 'turn-outdated' }
  /** The turn ends here until somebody answers. `questions`: all that are open, each of which was told. */
  | { readonly type: 'turn-waiting'; readonly questions: readonly Question[] }
  | { readonly type: 'turn-end'; readonly status: EndStatus; readonly error?: ErrorInfo }

export type PartType = 'text' | 'reasoning'

/** A question that waits for its answer. */
export interface Question {
  /** Of the interrupt: the answer is given under it. */
  readonly id: string
  readonly kind: QuestionKind
  readonly payload: Json
  /** JSON Schema of the answer. */
  readonly answerSchema?: JsonSchema
  /** The call of this turn that asks, or inside which somebody asks. Absent: a middleware asks, and no call. */
  readonly callId?: string
  /** Of that call. */
  readonly toolName?: string
}

/**
 * - `approval`: the middleware `approve` asks whether a call may run: that of the question, or one of an agent inside it.
 * - `client-call`: the call is of a tool without `execute`, and the answer is its output.
 * - `other`: all other questions. Only their own schema says what the answer is.
 */
export type QuestionKind = 'approval' | 'client-call' | 'other'
