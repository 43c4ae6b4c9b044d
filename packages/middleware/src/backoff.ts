/** How long to wait before a repeat, and the wait itself. */

import type { OptionNames } from '@meanwhile/core'
import { checkFunctions, checkNumbers } from './check-options.ts'

export interface BackoffOptions {
  /** Milliseconds before the first repeat; doubled for each further one. Default 100. */
  readonly baseDelay?: number
  /** The longest wait of that kind, in milliseconds, before jitter. Default 10,000. */
  readonly maxDelay?: number
  /** The part of a wait that chance may add. Default 0.5. */
  readonly jitter?: number
  /** From 0 to 1, 1 excluded. Default `Math.random`. */
  readonly random?: () => number
}

export const BACKOFF: OptionNames<BackoffOptions> = { baseDelay: '', maxDelay: '', jitter: '', random: '' }

/**
 * Milliseconds before the n-th repeat: `baseDelay × 2^(n-1)`, at most `maxDelay`, plus a random part of it up to `jitter`.
 * Throws `ConfigError` naming the option that is no number from 0 on, or no function.
 */
export function backoff(options: BackoffOptions): (repeat: number) => number {
  const { baseDelay = 100, maxDelay = 10_000, jitter = 0.5, random = Math.random } = options
  checkNumbers({ baseDelay, maxDelay, jitter })
  checkFunctions({ random })
  return (repeat) => Math.min(baseDelay * 2 ** (repeat - 1), maxDelay) * (1 + random() * jitter)
}

/** Waits; an abort ends it at once, with the signal's reason. */
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
