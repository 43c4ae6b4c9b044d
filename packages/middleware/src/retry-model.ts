/** The middleware `retryModel()`: repeats a failed model call within its step. */

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
import { branded } from '@meanwhile/core/calls'
import { BACKOFF, type BackoffOptions, backoff, wait } from './backoff.ts'
import { checkCounts, checkFunctions, checkNumbers } from './check-options.ts'

/** The options of `retryModel`. */
export interface RetryModelOptions extends BackoffOptions {
  /** Retries after the first attempt. Default 2. */
  readonly maxRetries?: number
  /** If the provider requests a longer wait than this, in milliseconds, there is no retry. Default 60,000. */
  readonly maxRetryAfter?: number
  /** Whether to retry. Default: errors that are `retryable`. */
  readonly when?: (error: unknown, attempt: RetryAttempt) => boolean
}

/** A failed attempt of a model call. */
export interface RetryAttempt {
  /** How many attempts have failed. */
  readonly attempt: number
  /** Whether no retry is left. */
  readonly isLast: boolean
  /** The partial response, if there is one. */
  readonly partial?: AssistantMessage
}

/**
 * Repeats a model call that failed with a temporary error: connection errors, timeouts, truncated streams, HTTP 408,
 * 409, 429 and 5xx. Each retry is a new attempt of the same step. If a failed attempt had started a call, the next
 * attempt's equal call joins it, and it does not run again. The client's own retries are switched off.
 *
 * After the last attempt the run fails with `RetriesExhaustedError`; an error that is not retried is thrown unchanged.
 */
export function retryModel(options: RetryModelOptions = {}): Middleware {
  checkOptions('retryModel', options, { maxRetries: 'maxAttempts', maxRetryAfter: '', when: 'retryOn', ...BACKOFF })
  const { maxRetries = 2, maxRetryAfter = 60_000, when = isRetryable } = options
  checkCounts({ maxRetries })
  checkNumbers({ maxRetryAfter })
  checkFunctions({ when })
  const delay = backoff(options)
  return branded('middleware', {
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
            // An abort of the run or a time limit is thrown itself. After any other abort the model's error is thrown.
            throw reason instanceof AgentError ? reason : error
          })
        }
      }
    },
  })
}

function isRetryable(error: unknown): boolean {
  return (error instanceof ModelError || error instanceof TimeoutError) && error.retryable
}
