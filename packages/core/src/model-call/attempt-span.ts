/** The end of an attempt's `chat` span, and of what is measured of it. */

import type { AssistantMessage } from '../message.ts'
import type { Model } from '../model.ts'
import { ModelError } from '../model-errors.ts'
import type { RunState } from '../run/run.ts'
import { set } from '../telemetry/attributes.ts'
import { record } from '../telemetry/content.ts'
import { failureOf, typeOf } from '../telemetry/error-type.ts'
import { setError } from '../telemetry/exception.ts'
import { contentsOfAnswer } from '../telemetry/message-json.ts'
import { outcomeOf } from '../telemetry/outcome.ts'
import { setResponse } from '../telemetry/response.ts'
import { endSpan, type OpenSpan } from '../telemetry/spans.ts'

export interface AttemptEnd {
  readonly model: Model
  readonly answer: AssistantMessage | undefined
  readonly error: unknown
  /** The wrap that asked has left it: whatever comes of it is no failure. */
  readonly left: boolean
  /** In `performance.now()`; absent if there was none. */
  readonly firstEvent: number | undefined
  /** How many of its calls had started. */
  readonly early: number
}

export function endAttemptSpan(run: RunState, open: OpenSpan, end: AttemptEnd): void {
  const { span, started } = open
  const { model, answer, error, left, firstEvent, early } = end
  const failure = left ? undefined : failureOf(error, typeOf)
  const message = answer ?? (left ? undefined : partialOf(error))
  const firstChunk = firstEvent === undefined ? undefined : (firstEvent - started) / 1000
  if (failure) set(span, () => ({ 'gen_ai.response.finish_reasons': ['error'] }))
  if (message) {
    setResponse(span, message)
    record(span, run.capture, () => contentsOfAnswer(message))
  }
  if (failure) setError(open, error, run.capture, failure)
  set(span, () => ({
    'gen_ai.response.time_to_first_chunk': firstChunk,
    'meanwhile.tool_calls.early': early,
    'meanwhile.outcome': left ? 'cancelled' : outcomeOf(error),
  }))
  const ended = performance.now()
  endSpan(open, ended)
  run.metrics?.attempt({ model, duration: (ended - started) / 1000, firstChunk, message, error: failure })
}

/** What had come of a response that failed. */
export function partialOf(error: unknown): AssistantMessage | undefined {
  return error instanceof ModelError ? error.partial : undefined
}
