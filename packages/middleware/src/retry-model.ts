/** Repeats a failed model call inside its step. */

import {
  AgentError,
  type AssistantMessage,
  checkOptions,
  type Middleware,
  ModelError,
  RetriesExhaustedError,
  RunStop,
  TimeoutError,
} from '@meanwhile/core'
import { BACKOFF, type BackoffOptions, backoff, wait } from './backoff.ts'
import { checkCounts, checkFunctions, checkNumbers } from './check-options.ts'

export interface RetryModelOptions extends BackoffOptions {
  /** Further tries after the first. Default 2. */
  readonly maxRetries?: number
  /** A provider that asks for a longer wait than this, in milliseconds, is not asked again. Default 60,000. */
  readonly maxRetryAfter?: number
  /** Whether to repeat. Default: errors that are `retryable`. */
  readonly when?: (error: unknown, attempt: RetryAttempt) => boolean
}

export interface RetryAttempt {
  /** How many tries have failed. */
  readonly attempt: number
  /** Whether there is no further try. */
  readonly isLast: boolean
  /** What had come of the response, if anything. */
  readonly partial?: AssistantMessage
}

/**
 * Asks the model again when a call fails in a way that may pass: connection errors, time-outs, truncated streams, HTTP 408,
 * 409, 429 and 5xx. Each repeat is a new attempt of the same step; a call that a failed attempt had started is joined by the next
 * attempt's equal call, never run again. The vendor client's own retries are switched off inside.
 *
 * When all tries are used the run fails with `RetriesExhaustedError`; an error that is not repeated surfaces as itself.
 */
export function retryModel(options: RetryModelOptions = {}): Middleware {
  checkOptions('retryModel', options, { maxRetries: 'maxAttempts', maxRetryAfter: '', when: 'retryOn', ...BACKOFF })
  const { maxRetries = 2, maxRetryAfter = 60_000, when = isRetryable } = options
  checkCounts({ maxRetries })
  checkNumbers({ maxRetryAfter })
  checkFunctions({ when })
  const delay = backoff(options)
  return {
    name: 'retry-model',
    async *wrapModel(request, next) {
      const errors: unknown[] = []
      for (;;) {
        try {
          return yield* next({ ...request, clientRetries: 0 })
        } catch (error) {
          errors.push(error)
          const attempt = errors.length
          const isLast = attempt > maxRetries
          const { retryAfter = 0, partial } = error instanceof ModelError ? error : {}
          const isOver = request.signal.aborted || error instanceof RunStop
          if (isOver || !when(error, { attempt, isLast, ...(partial && { partial }) })) throw error
          if (isLast) throw maxRetries === 0 ? error : new RetriesExhaustedError(errors)
          if (retryAfter > maxRetryAfter) throw error
          const waitMs = Math.ceil(Math.max(delay(attempt), retryAfter))
          yield { type: 'attempt-failed', error, next: 'retry', waitMs }
          await wait(waitMs, request.signal).catch((reason: unknown) => {
            // Whoever aborted this call alone has its reason; ours is why the model call failed.
            throw reason instanceof AgentError ? reason : error
          })
        }
      }
    },
  }
}

function isRetryable(error: unknown): boolean {
  return (error instanceof ModelError || error instanceof TimeoutError) && error.retryable
}
