/** Lets a run be one step long: the calls of a response that somebody else asks for are all there is to do. */

import {
  type AssistantMessage,
  type CompletedResult,
  type Message,
  type Middleware,
  type Run,
  textOf,
} from '@meanwhile/core'
import type { PushedModel } from './pushed-model.ts'

/** With as many attempts as are pushed. */
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
          // Not that of a run inside a call.
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

/** What an agent would go on from. */
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

/** The message of a step that has come to its end. */
export function answerOf(messages: readonly Message[]): AssistantMessage {
  return messages.find((message) => message.role === 'assistant') as AssistantMessage
}
