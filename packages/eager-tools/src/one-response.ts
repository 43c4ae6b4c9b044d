/** A middleware that ends the run after one step, because the response's calls are all that the executor handles. */

import {
  type AssistantMessage,
  type CompletedResult,
  type Message,
  type Middleware,
  type Run,
  textOf,
} from '@meanwhile/core'
import type { PushedModel } from './pushed-model.ts'

/** A new attempt begins for each response that is pushed. */
export function oneResponse(model: Pick<PushedModel<unknown>, 'isRetried' | 'abort'>): Middleware {
  let isAnswer = false
  return {
    name: 'tool-executor',
    async *wrapAgent(setup, next, run) {
      const abort = () => model.abort(run.signal.reason)
      run.signal.addEventListener('abort', abort, { once: true })
      try {
        const steps = next(setup)
        let messages: readonly Message[] = []
        for (;;) {
          const { done, value } = await steps.next()
          if (done) return { ...value, messages }
          yield value
          // Ignore the steps of runs inside a call.
          if (value.type !== 'step-end' || value.runId !== run.id) continue
          messages = value.messages
          if (!isAnswer) return callsMade(messages, run)
        }
      } finally {
        run.signal.removeEventListener('abort', abort)
      }
    },
    async *wrapModel(request, next) {
      for (;;) {
        try {
          return yield* next(request)
        } catch (error) {
          if (!(await model.isRetried())) throw error
          yield { type: 'attempt-failed', error, next: 'retry' }
        }
      }
    },
    beforeFinalAnswer() {
      isAnswer = true
    },
  }
}

/** The state from which an agent would continue with the next step. */
function callsMade(messages: readonly Message[], { step, usage }: Run): CompletedResult {
  const message = answerOf(messages)
  const { finishReason } = message
  return {
    status: 'completed',
    message,
    text: textOf(message),
    finishReason,
    messages,
    steps: step,
    usage,
    warnings: [],
  }
}

/** The assistant message of a completed step. */
export function answerOf(messages: readonly Message[]): AssistantMessage {
  return messages.find((message) => message.role === 'assistant') as AssistantMessage
}
