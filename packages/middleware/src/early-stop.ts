/** One last answer, without tools, where the step limit would end the run with an error. */

import {
  type AssistantMessage,
  ConfigError,
  close,
  MaxStepsError,
  type Middleware,
  type Run,
  textOf,
} from '@meanwhile/core'

export interface EarlyStopOptions {
  /** The last user message of the closing request; empty adds none. */
  readonly instruction?: string
}

/** What the model reads before its closing answer, unless the user says otherwise. */
export const DEFAULT_INSTRUCTION =
  'No more tool calls are possible. Give your final answer now, from what you know so far.'

const isClosing = (run: Run) => run.step === run.setup.maxSteps

/**
 * Adds one model call after step `maxSteps`, without tools, so that the run ends with an answer: at most `maxSteps + 1` model
 * calls, `stopReason: 'early-stop'` (N16). A run that ends sooner is not touched (F6). If the closing answer has no text, or is
 * rejected, the run ends with `MaxStepsError`, which names the limit as the user set it (N17).
 */
export function earlyStop({ instruction = DEFAULT_INSTRUCTION }: EarlyStopOptions = {}): Middleware {
  if (typeof instruction !== 'string') throw new ConfigError('instruction', 'must be a string')
  return {
    name: 'early-stop',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    beforeModel(state, run) {
      if (!isClosing(run) || instruction === '') return
      return { ...state, messages: [...state.messages, { role: 'user', content: instruction, origin: 'early-stop' }] }
    },
    async *wrapModel(request, next, run) {
      if (!isClosing(run)) return yield* next(request)
      // Providers refuse tool messages in a history without tool definitions.
      const tools = request.messages.some((message) => message.role === 'tool') ? request.tools : []
      const flow = next({ ...request, tools, toolChoice: 'none' })
      try {
        for (;;) {
          const step = await flow.next()
          if (step.done) return withoutCalls(step.value, run)
          if (step.value.type?.startsWith('tool-')) continue
          yield step.value
        }
      } finally {
        await close(flow)
      }
    },
    async *wrapAgent(setup, next, run) {
      try {
        const result = yield* next(setup)
        return isClosing(run) ? { ...result, stopReason: 'early-stop' } : result
      } catch (error) {
        throw isClosing(run) && error instanceof MaxStepsError ? limitReached(run, error.feedback) : error
      }
    },
  }
}

function withoutCalls(message: AssistantMessage, run: Run): AssistantMessage {
  const answer = { ...message, content: message.content.filter((part) => part.type !== 'tool-call') }
  if (textOf(answer).trim() === '') throw limitReached(run)
  return answer
}

/** The limit is the user's: the closing step is ours. */
function limitReached(run: Run, feedback?: string): MaxStepsError {
  return new MaxStepsError(run.setup.maxSteps - 1, feedback)
}
