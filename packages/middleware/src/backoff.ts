/** How long to wait before a repeat, and the wait itself. */

export interface BackoffOptions {
  readonly baseDelay?: number
  readonly maxDelay?: number
  readonly jitter?: number
  readonly random?: () => number
}

/** Milliseconds before the n-th repeat: `baseDelay × 2^(n-1)`, at most `maxDelay`, plus a random part of it up to `jitter` (J4). */
export function backoff({
  baseDelay = 100,
  maxDelay = 10_000,
  jitter = 0.5,
  random = Math.random,
}: BackoffOptions): (repeat: number) => number {
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
