/** Computes how long to wait before a retry, and waits. */

import type { OptionNames } from '@meanwhile/core'
import { checkFunctions, checkNumbers } from './check-options.ts'

export interface BackoffOptions {
  /** The time before the first retry, in milliseconds; it doubles for each further retry. Default 100. */
  readonly baseDelay?: number
  /** The maximum of this time before jitter, in milliseconds. Default 10,000. */
  readonly maxDelay?: number
  /** The random part that is added to a wait, as a fraction of the wait: 0.5 adds up to half of it. Default 0.5. */
  readonly jitter?: number
  /** Returns random numbers from 0 to 1, exclusive. Default `Math.random`. */
  readonly random?: () => number
}

export const BACKOFF: OptionNames<BackoffOptions> = { baseDelay: '', maxDelay: '', jitter: '', random: '' }

/**
 * Returns a function of n: the milliseconds before the n-th retry, which are `baseDelay × 2^(n-1)`, at most `maxDelay`,
 * plus a random part of that up to `jitter`.
 *
 * @throws {ConfigError} An option is not a number of at least 0, or not a function; the error names it.
 */
export function backoff(options: BackoffOptions): (repeat: number) => number {
  const { baseDelay = 100, maxDelay = 10_000, jitter = 0.5, random = Math.random } = options
  checkNumbers({ baseDelay, maxDelay, jitter })
  checkFunctions({ random })
  return (repeat) => Math.min(baseDelay * 2 ** (repeat - 1), maxDelay) * (1 + random() * jitter)
}

/** Waits; an abort ends the wait at once, with the signal's reason. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
