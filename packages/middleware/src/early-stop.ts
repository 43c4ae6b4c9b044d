/** One last answer, without tool calls, where the step limit would end the run with an error. */

import {
  type AgentState,
  type AssistantMessage,
  type CompletedResult,
  ConfigError,
  checkOptions,
  MaxStepsError,
  type Middleware,
  OutputError,
  type Run,
  runLocal,
  textOf,
} from '@meanwhile/core'
import { closingCall, DEFAULT_INSTRUCTION } from './closing-call.ts'

export interface EarlyStopOptions {
  /** The last user message of the closing request; empty adds none. */
  readonly instruction?: string
}

const isClosing = (run: Run) => run.step === run.setup.maxSteps

/**
 * Adds one model call after step `maxSteps` that may call no tool (`toolChoice` is `none`), so that the run ends with an answer: at
 * most `maxSteps + 1` model calls, `stopReason: 'early-stop'`. A run that ends sooner is not touched. If the closing answer
 * has no text the run ends with `MaxStepsError`, which names the limit as the user set it. The final-answer gate sees that answer,
 * and can only warn: one that it rejects is the result all the same, with the feedback in `warnings`.
 *
 * An agent with an `output` schema gets its output: where the model gives it through a call, that call alone is allowed. What does
 * not fit fails with `OutputError`.
 */
export function earlyStop(options: EarlyStopOptions = {}): Middleware {
  checkOptions('earlyStop', options, { instruction: 'prompt' })
  const { instruction = DEFAULT_INSTRUCTION } = options
  if (typeof instruction !== 'string') throw new ConfigError('instruction', 'must be a string')
  const closing = runLocal((): { state?: AgentState; hasOutput?: boolean } => ({}))
  return {
    name: 'early-stop',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    beforeModel(state, run) {
      if (!isClosing(run) || instruction === '') return
      return { ...state, messages: [...state.messages, { role: 'user', content: instruction, origin: 'early-stop' }] }
    },
    // The flow itself, not one round it: this wrap has nothing to do with the events of other steps.
    wrapModel(request, next, run) {
      if (!isClosing(run)) return next(request)
      closing(run).hasOutput = request.output !== undefined
      return closingCall(request, next, () => limitReached(run))
    },
    afterModel(state, run) {
      if (isClosing(run)) closing(run).state = state
    },
    async *wrapAgent(setup, next, run) {
      try {
        const result = yield* next(setup)
        return isClosing(run) ? { ...result, stopReason: 'early-stop' } : result
      } catch (error) {
        if (!(isClosing(run) && error instanceof MaxStepsError)) throw error
        if (error.cause instanceof OutputError) throw error.cause
        const { state: answered, hasOutput } = closing(run)
        // An output that a hook rejected is none of ours to give: its value is core's.
        if (!answered || error.feedback === undefined || hasOutput) throw limitReached(run, error.feedback)
        run.warn({ code: 'answer-rejected', message: error.feedback })
        return resultOf(answered, run)
      }
    },
  }
}

/** The last answer stands, though the gate rejected it. */
function resultOf({ messages }: AgentState, run: Run): CompletedResult {
  const message = messages.at(-1) as AssistantMessage
  return {
    status: 'completed',
    stopReason: 'early-stop',
    message,
    text: textOf(message),
    finishReason: message.finishReason,
    messages,
    steps: run.step,
    usage: run.usage,
    warnings: [],
  }
}

/** The limit is the user's: the closing step is ours. */
function limitReached(run: Run, feedback?: string): MaxStepsError {
  return new MaxStepsError(run.setup.maxSteps - 1, feedback)
}
