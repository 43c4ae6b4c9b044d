/** A final-answer gate for what goes wrong most: no answer at all, one that was cut off, one that a check of your own refuses. */

import {
  AgentError,
  type AgentState,
  type AssistantMessage,
  type Awaitable,
  ConfigError,
  checkOptions,
  type Message,
  type Middleware,
  type Run,
  runLocal,
  type ToolMessage,
  textOf,
} from '@meanwhile/core'
import { checkCounts, checkFunctions } from './check-options.ts'
import { isCount, schemaOf } from './schema-of.ts'

export interface AnswerGuardOptions {
  /** Refuse an answer of white space alone. Default true. */
  readonly empty?: boolean
  /** Refuse an answer that was cut off at its token limit, and put the pieces together. Default true. */
  readonly length?: boolean
  /** Gives feedback for an answer that is not good enough, or nothing. */
  readonly check?: (answer: AssistantMessage | ToolMessage, run: Run) => Awaitable<string | undefined | void>
  /** How often a run's answers are refused at the most. Default 2. */
  readonly maxRejections?: number
  /** What becomes of the next one that would be. Default `accept`. */
  readonly then?: 'accept' | 'error'
}

/** The gate had refused as many answers as it may, and the next was no better. */
export class AnswerRejectedError extends AgentError {
  override readonly name = 'AnswerRejectedError'
  readonly rejections: number
  /** What was wrong with the last one. */
  readonly feedback: string

  constructor(rejections: number, feedback: string) {
    super(`no acceptable answer after ${rejections} ${rejections === 1 ? 'rejection' : 'rejections'}: ${feedback}`)
    this.rejections = rejections
    this.feedback = feedback
  }
}

export const ANSWER_PLEASE = 'Your answer was empty. Please answer.'
export const GO_ON = 'Your answer was cut off. Go on exactly where it ends, without repeating anything.'

/**
 * Refuses answers, each time with a word to the model on what to do: white space alone, an answer that was cut off, and what `check`
 * has something to say about. The accepted end of an answer that was cut off becomes the whole answer.
 *
 * After `maxRejections` an answer is accepted with the feedback in `result.warnings`, or the run fails with
 * {@link AnswerRejectedError}.
 */
export function answerGuard(options: AnswerGuardOptions = {}): Middleware {
  checkOptions('answerGuard', options, { empty: '', length: '', check: '', maxRejections: 'maxRetries', then: '' })
  const { empty = true, length = true, check, maxRejections = 2, then = 'accept' } = options
  checkCounts({ maxRejections })
  checkFunctions({ check })
  if (then !== 'accept' && then !== 'error')
    throw new ConfigError('then', `must be accept or error, not ${String(then)}`)
  const rejected = runLocal({ key: 'answer-guard', schema: schemaOf(isCount), initial: 0 })

  async function feedbackOn(state: AgentState, answer: AssistantMessage | ToolMessage, run: Run) {
    if (empty && isBlank(answer)) return ANSWER_PLEASE
    if (length && answer.role === 'assistant' && state.finishReason === 'length') return GO_ON
    return (await check?.(answer, run)) || undefined
  }

  return {
    name: 'answer-guard',
    async beforeFinalAnswer(state, run) {
      const last = state.messages.at(-1)
      if (last?.role !== 'assistant' && last?.role !== 'tool') return
      const whole = last.role === 'assistant' ? joined(state.messages, last) : last
      const feedback = await feedbackOn(state, whole, run)
      const times = rejected(run).value
      if (feedback !== undefined && times < maxRejections) {
        rejected(run).value = times + 1
        return { accept: false, feedback }
      }
      if (feedback !== undefined && then === 'error') throw new AnswerRejectedError(times, feedback)
      if (feedback !== undefined) run.warn({ code: 'answer-accepted', message: feedback })
      if (whole !== last && whole.role === 'assistant') return { accept: true, message: whole }
    },
  }
}

function isBlank(answer: AssistantMessage | ToolMessage): boolean {
  return textOf(answer).trim() === '' && !answer.content.some(({ type }) => type === 'file')
}

/** The last of several pieces with the text of all; an answer that is whole is the same object. */
function joined(messages: readonly Message[], last: AssistantMessage): AssistantMessage {
  const pieces = [last]
  for (let at = messages.length - 2; at > 0; at -= 2) {
    const [piece, request] = [messages[at - 1], messages[at]]
    const isPiece = piece?.role === 'assistant' && piece.finishReason === 'length'
    if (!isPiece || request?.role !== 'user' || request.origin !== 'answer-guard' || request.content !== GO_ON) break
    pieces.unshift(piece)
  }
  if (pieces.length === 1) return last
  const text = Object.freeze({ type: 'text' as const, text: pieces.map(textOf).join('') })
  return Object.freeze({ ...last, content: Object.freeze([text]) })
}
