/** Masks secrets in the events of a model call: in text, in reasoning, and in the input of the call that is the answer. */

import type { ModelFlow } from '@meanwhile/core'
import type { MaskedResponse } from './masked-response.ts'

/** What is held back is released before a failure or the end. Events of a middleware release nothing. */
export async function* maskedEvents(
  flow: ModelFlow,
  response: MaskedResponse<{ readonly attempt?: number }>,
): ModelFlow {
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) {
        yield* response.rest()
        return step.value
      }
      const event = step.value
      if (event.type === 'attempt-failed') yield* response.rest('attempt' in event ? Number(event.attempt) : undefined)
      if (event.type === 'attempt-failed' || event.type === 'custom') yield event
      else yield* response.shown(event)
    }
  } catch (error) {
    yield* response.rest()
    throw error
  }
}
