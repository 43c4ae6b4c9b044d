/** The smallest middleware that repeats a failed model call. */

import { type Middleware, type Model, ModelError } from '@meanwhile/core'
import { after } from './workshop.ts'

interface RetryingOptions {
  readonly repeats?: number
  readonly waitMs?: number
  /** The model for the repeat. Default: the same as before. */
  readonly other?: Model | undefined
}

/** Repeats at once or after a wait, as long as the error is retryable and repeats are left. */
export function retrying({ repeats = 1, waitMs = 0, other }: RetryingOptions = {}): Middleware {
  return {
    name: 'retrying',
    async *wrapModel(request, next) {
      for (let left = repeats; ; left--) {
        try {
          return yield* next(other && left < repeats ? { ...request, model: other } : request)
        } catch (error) {
          if (left === 0 || !(error instanceof ModelError) || !error.retryable) throw error
          yield { type: 'attempt-failed', error, next: other ? 'fallback' : 'retry', waitMs }
          if (waitMs > 0) await after(waitMs, request.signal)
        }
      }
    },
  }
}
