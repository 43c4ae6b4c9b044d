/** Limits waits by a time or a signal, and repeats what took too long. */

import { follow } from './follow.ts'
import { coming, unheard } from './unheard.ts'

/** The longest delay of a timer, in milliseconds. With a longer one it fires immediately. */
const LONGEST = 2 ** 31 - 1

/** Starts a timer. Returns `undefined` for a time that is too long for a timer, such as `Infinity`. */
export function timer(ms: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return ms > LONGEST ? undefined : setTimeout(act, ms)
}

/** Waits for work, but at most this many milliseconds. Returns whether the work was done in time. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = coming<boolean>()
  const late = timer(ms, () => over.resolve(false))
  try {
    return await Promise.race([work.then(() => true), over.promise])
  } finally {
    clearTimeout(late)
  }
}

/** Returns the result of the work, or throws the reason of the first signal that aborts before that. The work itself may continue. */
export async function unlessAborted<Result>(work: Promise<Result>, signals: readonly AbortSignal[]): Promise<Result> {
  const aborted = coming<never>()
  const following = signals.map((signal) => {
    if (signal.aborted) aborted.reject(signal.reason)
    return follow(signal, () => aborted.reject(signal.reason))
  })
  try {
    return await Promise.race([unheard(work), aborted.promise])
  } finally {
    for (const unfollow of following) unfollow()
  }
}

/** After this many milliseconds another process may have taken over the run, if this process was suspended. */
const OLD = 1_000

/** Performs the action, and repeats it if it took longer than a second. */
export async function recently(act: () => Promise<void>): Promise<void> {
  const begun = Date.now()
  await act()
  if (Date.now() - begun > OLD) await act()
}
