/**
 * The middleware `earlyStop()`: makes one last model call without tool calls where the step limit would end the run
 * with an error.
 */

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
import { branded } from '@meanwhile/core/calls'
import { closingCall, DEFAULT_INSTRUCTION } from './closing-call.ts'

/** The options of `earlyStop`. */
export interface EarlyStopOptions {
  /** The last user message of the closing request; an empty string adds none. */
  readonly instruction?: string
}

const isClosing = (run: Run) => run.step === run.setup.maxSteps

/**
 * Adds one model call after step `maxSteps`, which cannot call tools (`toolChoice` is `none`), so that the run ends
 * with an answer. The run then has at most `maxSteps + 1` model calls and `stopReason: 'early-stop'`. A run that ends
 * earlier is unchanged. If the closing answer has no text, the run ends with `MaxStepsError`, which contains the limit
 * that you set. `beforeFinalAnswer` hooks see that answer but can only warn: a rejected answer is still the result,
 * with the feedback in `warnings`.
 *
 * An agent with an `output` schema returns its output: if the model returns it through a call, only that call is
 * allowed. An output that does not match the schema fails with `OutputError`.
 */
export function earlyStop(options: EarlyStopOptions = {}): Middleware {
  checkOptions('earlyStop', options, { instruction: 'prompt' })
  const { instruction = DEFAULT_INSTRUCTION } = options
  if (typeof instruction !== 'string') throw new ConfigError('instruction', 'must be a string')
  const closing = runLocal((): { state?: AgentState; hasOutput?: boolean } => ({}))
  return branded('middleware', {
    name: 'early-stop',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    beforeModel(state, run) {
      if (!isClosing(run) || instruction === '') return
      return { ...state, messages: [...state.messages, { role: 'user', content: instruction, origin: 'early-stop' }] }
    },
    // Returns the flow itself, not a wrapper: events of other steps are not affected.
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
        // An output that a hook rejected cannot be returned here, because only core has its value.
        if (!answered || error.feedback === undefined || hasOutput) throw limitReached(run, error.feedback)
        run.warn({ code: 'answer-rejected', message: error.feedback })
        return resultOf(answered, run)
      }
    },
  })
}

/** Returns a result with the last answer, although a hook rejected it. */
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

/** The error has the limit that you set: the closing step is extra. */
function limitReached(run: Run, feedback?: string): MaxStepsError {
  return new MaxStepsError(run.setup.maxSteps - 1, feedback)
}
