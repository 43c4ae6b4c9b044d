/** The final-answer gate: an answer stands when one round of hooks accepts throughout. */

import { MiddlewareError } from './errors.ts'
import type { AgentEvent } from './events.ts'
import type { Flow } from './flow.ts'
import { askHook } from './hooks.ts'
import { callsOf } from './message.ts'
import type { RunState } from './run.ts'
import type { Answer, Step } from './step.ts'

/** What the model reads when a hook rejects an answer and says nothing (E11). */
export const DEFAULT_FEEDBACK = 'This answer was not accepted. Please try again.'

/**
 * Asks the hooks, first to last; the first rejection ends the round (E6). Gives the answer that stands, as the last hook left it
 * (E7), or nothing: then the feedback is in the history.
 */
export async function* askGate(run: RunState, step: Step, candidate: Answer): Flow<AgentEvent, Answer | undefined> {
  let answer = candidate
  for (const middleware of run.middleware) {
    if (step.done.has(middleware.name)) continue
    const state = { messages: answersLast(run, answer), finishReason: step.finishReason ?? 'other' }
    const verdict = yield* run.funnel.until(askHook(run, middleware, state))
    step.done.add(middleware.name)
    if (!verdict) continue
    if (!verdict.accept) {
      step.candidate = undefined
      const feedback = run.reject(verdict.feedback ?? '', middleware.name)
      yield* run.tell({ type: 'answer-rejected', middleware: middleware.name, feedback })
      return undefined
    }
    if (!verdict.message) continue
    if (callsOf(verdict.message).length > 0) {
      throw new MiddlewareError(middleware.name, 'beforeFinalAnswer', 'an accepted message cannot have tool calls')
    }
    answer = run.replaceAnswer(answer, verdict.message)
    step.candidate = answer
  }
  return answer
}

/** A direct result may stand before those of later calls: the gate sees it last all the same (E8). */
function answersLast(run: RunState, answer: Answer): RunState['messages'] {
  return run.messages.at(-1) === answer
    ? run.messages
    : [...run.messages.filter((message) => message !== answer), answer]
}
