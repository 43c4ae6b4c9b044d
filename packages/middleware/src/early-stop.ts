/** One last answer, without calls, where the step limit would end the run with an error. */

import {
  type AssistantMessage,
  allowsCalls,
  ConfigError,
  close,
  type Flow,
  MaxStepsError,
  type Middleware,
  type ModelFlow,
  type ModelRequest,
  OutputError,
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
 *
 * An agent with an `output` schema gets its output: where the model gives it through a call, that call alone is allowed. What does
 * not fit fails with `OutputError` (O13).
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
      const isOther = otherCalls(request)
      try {
        for (;;) {
          const step = await flow.next()
          if (step.done) return closingAnswer(step.value, request, run)
          if (!isOther(step.value)) yield step.value
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
        if (!(isClosing(run) && error instanceof MaxStepsError)) throw error
        throw error.cause instanceof OutputError ? error.cause : limitReached(run, error.feedback)
      }
    },
  }
}

/** Whether an event is of a call that may not be: of any but one that gives the output. */
function otherCalls({ output }: ModelRequest): (event: ModelFlowEvent) => boolean {
  const allowed = new Set<string>()
  return (event) => {
    if (!('id' in event || 'call' in event)) return false
    const { id } = 'call' in event ? event.call : event
    const name = 'call' in event ? event.call.name : 'name' in event ? event.name : undefined
    if (name !== undefined && name === output?.name) allowed.add(id)
    return !allowed.has(id)
  }
}

/** The answer without the calls that may not be. Whether it fits an output schema is the gate's to say. */
function closingAnswer(message: AssistantMessage, { output }: ModelRequest, run: Run): AssistantMessage {
  const name = allowsCalls(message.finishReason) ? output?.name : undefined
  const answer = {
    ...message,
    content: message.content.filter((part) => part.type !== 'tool-call' || part.name === name),
  }
  if (!output && textOf(answer).trim() === '') throw limitReached(run)
  return answer
}

/** The limit is the user's: the closing step is ours. */
function limitReached(run: Run, feedback?: string): MaxStepsError {
  return new MaxStepsError(run.setup.maxSteps - 1, feedback)
}

type ModelFlowEvent = ModelFlow extends Flow<infer Event, AssistantMessage> ? Event : never
