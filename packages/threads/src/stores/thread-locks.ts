/** Lets the changes of each thread happen one after another. A change that waits holds no connection. */

import { ThreadError } from '../thread-errors.ts'

/** How many milliseconds a change waits for its thread. */
const LIMIT = 10_000

/** The longest pause between two attempts, in milliseconds. */
const MAX_PAUSE = 50

const LOCKED = `another change of it has not ended for ${LIMIT / 1000} s, so this one was not made`

/**
 * Returns a function that calls `attempt` until it returns a value: `undefined` means that another process has the lock of the thread. Calls for the
 * same thread wait for each other here, so that one of them at a time asks the server. Each throws a {@link ThreadError} after 10 s in which no change
 * of the thread was made.
 */
export function threadLocks(): <Result>(
  id: string,
  attempt: () => Promise<{ readonly result: Result } | undefined>,
) => Promise<Result> {
  const queues = new Map<string, Promise<void>>()
  /** When the last change of a thread with a queue was made. */
  const madeAt = new Map<string, number>()

  return async (id, attempt) => {
    const before = queues.get(id)
    let leave = () => {}
    const own = new Promise<void>((resolve) => {
      leave = resolve
    })
    const queue = before ? before.then(() => own) : own
    queues.set(id, queue)
    try {
      if (before) await withinLimit(id, before, () => madeAt.get(id) ?? 0)
      const begun = performance.now()
      for (let pause = 1; ; pause = Math.min(2 * pause, MAX_PAUSE)) {
        const done = await attempt()
        if (done) {
          madeAt.set(id, performance.now())
          return done.result
        }
        if (performance.now() - begun > LIMIT) throw new ThreadError(id, LOCKED)
        // Two processes do not keep asking at the same times.
        await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
      }
    } finally {
      leave()
      if (queues.get(id) === queue) {
        queues.delete(id)
        madeAt.delete(id)
      }
    }
  }
}

async function withinLimit(id: string, turn: Promise<void>, madeAt: () => number): Promise<void> {
  const begun = performance.now()
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<void>((_, reject) => {
    const check = () => {
      const left = Math.max(begun, madeAt()) + LIMIT - performance.now()
      if (left > 0) timer = setTimeout(check, left)
      else reject(new ThreadError(id, LOCKED))
    }
    check()
  })
  try {
    await Promise.race([turn, tooLong])
  } finally {
    clearTimeout(timer)
  }
}
