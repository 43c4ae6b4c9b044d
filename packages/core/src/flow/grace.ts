/** Waits that end: by a time, or by a signal. */

import { follow } from './follow.ts'
import { unheard } from './unheard.ts'

/** Beyond so many milliseconds a timer fires at once, not late. */
const LONGEST = 2 ** 31 - 1

/** A timer; none for a time that no timer can wait, such as `Infinity`. */
export function timer(ms: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return ms > LONGEST ? undefined : setTimeout(act, ms)
}

/** Waits for work, but no longer than so many milliseconds; gives whether it was done by then. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let late: ReturnType<typeof timer>
  const over = new Promise<boolean>((resolve) => {
    late = timer(ms, () => resolve(false))
  })
  try {
    return await Promise.race([work.then(() => true), over])
  } finally {
    clearTimeout(late)
  }
}

/** What the work gives, or the reason of the first of these signals that aborts before that. Nobody hears then how the work ends. */
export async function unlessAborted<Result>(work: Promise<Result>, signals: readonly AbortSignal[]): Promise<Result> {
  const following: (() => void)[] = []
  const aborted = new Promise<never>((_, reject) => {
    for (const signal of signals) {
      if (signal.aborted) reject(signal.reason)
      else following.push(follow(signal, () => reject(signal.reason)))
    }
  })
  try {
    return await Promise.race([unheard(work), aborted])
  } finally {
    for (const unfollow of following) unfollow()
  }
}
