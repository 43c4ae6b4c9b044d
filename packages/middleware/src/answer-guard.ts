/** The middleware `answerGuard()`: rejects final answers that are empty, were cut off, or fail your own check. */

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
import { branded } from '@meanwhile/core/calls'
import { checkCounts, checkFunctions } from './check-options.ts'
import { isCount, schemaOf } from './schema-of.ts'

/** The options of `answerGuard`. */
export interface AnswerGuardOptions {
  /** Reject answers that consist of white space only. Default true. */
  readonly empty?: boolean
  /** Reject an answer that was cut off at its token limit, and join its pieces. Default true. */
  readonly length?: boolean
  /** Your own check. Returns feedback for an answer that must be rejected, otherwise `undefined`. */
  readonly check?: (answer: AssistantMessage | ToolMessage, run: Run) => Awaitable<string | undefined | void>
  /** The maximum number of answers of a run that are rejected. Default 2. */
  readonly maxRejections?: number
  /**
   * What happens to the next answer that fails after `maxRejections`: `accept` accepts it with a warning, `error` fails
   * the run. Default `accept`.
   */
  readonly then?: 'accept' | 'error'
}

/** The maximum number of answers was rejected, and the next answer failed, too. */
export class AnswerRejectedError extends AgentError {
  static override readonly brand: string = 'AnswerRejectedError'
  /** How many answers were rejected before. */
  readonly rejections: number
  /** What was wrong with the last answer. */
  readonly feedback: string

  constructor(rejections: number, feedback: string) {
    super(`no acceptable answer after ${rejections} ${rejections === 1 ? 'rejection' : 'rejections'}: ${feedback}`)
    this.rejections = rejections
    this.feedback = feedback
  }
}

export const ANSWER_PLEASE = 'Your answer was empty. Please answer.'
export const GO_ON = 'Your answer was cut off. Continue exactly where it ends, without repeating anything.'

/**
 * Rejects answers and sends feedback to the model: answers of white space only, answers that were cut off, and those
 * for which `check` returns feedback. If the model then writes the rest of an answer that was cut off, the pieces
 * become one answer.
 *
 * After `maxRejections`, an answer is accepted and the feedback is in `result.warnings`; with `then: 'error'` the run
 * fails with {@link AnswerRejectedError}.
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

  return branded('middleware', {
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
  })
}

function isBlank(answer: AssistantMessage | ToolMessage): boolean {
  return textOf(answer).trim() === '' && !answer.content.some(({ type }) => type === 'file')
}

/** Returns the last message with the joined text of all pieces; a complete answer is returned unchanged. */
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
