/** The smallest middleware that repeats a failed model call. */

import { type Middleware, ModelError } from '@meanwhile/core'
import { after } from './workshop.ts'

/** Asks again, at once or after a wait, as long as the error may pass and there is a repeat left. */
export function retrying({ repeats = 1, waitMs = 0 } = {}): Middleware {
  return {
    name: 'retrying',
    async *wrapModel(request, next) {
      for (let left = repeats; ; left--) {
        try {
          return yield* next(request)
        } catch (error) {
          if (left === 0 || !(error instanceof ModelError) || !error.retryable) throw error
          yield { type: 'attempt-failed', error, next: 'retry', waitMs }
          if (waitMs > 0) await after(waitMs, request.signal)
        }
      }
    },
  }
}
