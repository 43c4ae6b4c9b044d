/** How long to wait before the same model is asked again. */

import { ConfigError, checkOptions } from '@meanwhile/core'
import { follow, shownValue } from '@meanwhile/core/calls'

/** How long `resilient()` waits before it asks the same model again. */
export interface BackoffOptions {
  /** The time before the first repeat, in milliseconds; it doubles for each further one. Default 100. */
  readonly baseDelay?: number
  /** The maximum of this time before jitter, in milliseconds. Default 10,000. */
  readonly maxDelay?: number
  /** The random part that is added to a wait, as a fraction of the wait: 0.5 adds up to half of it. Default 0.5. */
  readonly jitter?: number
  /** Returns random numbers from 0 to 1, exclusive. Default `Math.random`. */
  readonly random?: () => number
}

/**
 * Returns a function of n: the milliseconds before the n-th repeat, which are `baseDelay × 2^(n-1)`, at most `maxDelay`,
 * plus a random part of that up to `jitter`.
 *
 * @throws {ConfigError} An option is wrong; the error names it.
 */
export function backoff(options: BackoffOptions = {}): (repeat: number) => number {
  checkOptions('backoff', options, { baseDelay: '', maxDelay: '', jitter: '', random: '' }, 'backoff.')
  const { baseDelay = 100, maxDelay = 10_000, jitter = 0.5, random = Math.random } = options
  for (const [name, value] of Object.entries({ baseDelay, maxDelay, jitter })) {
    if (!(Number.isFinite(value) && value >= 0))
      throw new ConfigError(`backoff.${name}`, `must be 0 or a positive finite number, not ${shownValue(value)}`)
  }
  if (typeof random !== 'function') throw new ConfigError('backoff.random', 'must be a function')
  return (repeat) => Math.min(baseDelay * 2 ** (repeat - 1), maxDelay) * (1 + random() * jitter)
}

/** Waits; an abort ends the wait at once, with the signal's reason. The signal must not have aborted before. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      unfollow?.()
      resolve()
    }, ms)
    const unfollow =
      signal &&
      follow(signal, () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
  })
}
