/** The final-answer gate: an answer is accepted if it fits the output schema and then every `beforeFinalAnswer` hook accepts it. */

import { answerRejected, dueHook, hookDone } from '../machine/steps.ts'
import { checkOutput } from '../output/output.ts'
import type { RunState } from '../state/run.ts'
import type { Answer } from '../state/run-steps.ts'
import { MiddlewareError, type OutputError } from '../vocabulary/errors.ts'
import { callsOf, type FinishReason, type Message, textOf } from '../vocabulary/message.ts'
import { withFittingReason } from '../vocabulary/message-shape.ts'
import { askHook } from './hooks.ts'

/** What the model reads when a hook rejects an answer without feedback. */
export const DEFAULT_FEEDBACK = 'This answer was not accepted. Please try again.'

/** The name, in events and as the origin of the feedback, for the rejection of an answer that does not fit. */
const OUTPUT_ORIGIN = 'output'

export interface Accepted {
  /** The answer, with the changes of the hooks. */
  readonly message: Answer
  /** The value that the output schema returned. */
  readonly output: unknown
}

/**
 * Checks the output schema, then the hooks, first to last; the first rejection ends the round. Returns the accepted answer, or nothing:
 * then the feedback is in the history.
 */
export async function askGate(run: RunState, candidate: Answer): Promise<Accepted | undefined> {
  const { steps } = run
  let answer = candidate
  let { value, misfit } = await checkOutput(run.config.output, run.setup.model, answer)
  if (misfit) {
    await reject(run, misfit.feedback, OUTPUT_ORIGIN, misfit.error)
    return undefined
  }
  const { state } = steps
  for (let middleware = dueHook(state, run.middleware); middleware; middleware = dueHook(state, run.middleware)) {
    const finishReason = reasonOf(run, answer)
    const asked = Object.freeze({ messages: answersLast(run, answer), finishReason })
    const verdict = await askHook(run, middleware, asked)
    hookDone(state, middleware.name)
    if (!verdict) continue
    if (!verdict.accept) {
      await reject(run, verdict.feedback ?? '', middleware.name)
      return undefined
    }
    if (!verdict.message) continue
    if (callsOf(verdict.message).length > 0) {
      throw new MiddlewareError(middleware.name, 'beforeFinalAnswer', 'an accepted message cannot have tool calls')
    }
    answer = run.history.replaceAnswer(answer, withFittingReason(verdict.message))
    steps.offer = answer
    ;({ value, misfit } = await checkOutput(run.config.output, run.setup.model, answer))
    if (misfit) {
      const problem = 'an accepted message must match the output schema'
      throw new MiddlewareError(middleware.name, 'beforeFinalAnswer', problem, { cause: misfit.error })
    }
  }
  return { message: answer, output: value }
}

/** Returns how the response of an answer ended. A tool's result has no finish reason itself. */
export function reasonOf({ steps }: RunState, answer: Answer): FinishReason {
  return answer.role === 'assistant' ? answer.finishReason : (steps.state.current?.finishReason ?? 'other')
}

/** Returns the history with the answer last, as hooks expect it. The result of a `returnDirect` call may come before results of later calls. */
function answersLast({ history: { last, messages } }: RunState, answer: Answer): readonly Message[] {
  return last === answer ? messages : [...messages.filter((message) => message !== answer), answer]
}

/** Rejects an answer: the model reads the feedback. `origin`: what rejected it. */
async function reject(
  run: RunState,
  feedback: string | readonly Message[],
  origin: string,
  misfit?: OutputError,
): Promise<void> {
  const empty = feedback.length === 0
  if (empty) {
    const message = `${origin} rejected an answer without feedback`
    run.events.warn({ code: 'empty-feedback', message, source: 'core' })
  }
  const said = empty ? DEFAULT_FEEDBACK : feedback
  run.events.push({ type: 'answer-rejected', middleware: origin, feedback: said })
  const messages = typeof said === 'string' ? [{ role: 'user', content: said } as const] : said
  for (const message of messages) run.history.append(message.role === 'user' ? { origin, ...message } : message)
  run.steps.rejection = { feedback: typeof said === 'string' ? said : said.map(textOf).join('\n'), misfit }
  answerRejected(run.steps.state)
  await run.events.taken()
}
