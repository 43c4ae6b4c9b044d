/** Lets the changes of each thread happen one after another. A change that waits holds no connection. */

import { ThreadError } from '../thread-errors.ts'

/** How many milliseconds a change waits for its thread. */
const LIMIT = 10_000

/** The longest pause between two attempts, in milliseconds. */
const MAX_PAUSE = 50

const LOCKED = `another change of it has not ended for ${LIMIT / 1000} s, so this one was not made`

/**
 * Returns a function that calls `attempt` until it returns a value: `undefined` means that another process has the lock of the thread. Calls for the
 * same thread wait for each other here, so that one of them at a time asks the server. Each throws a {@link ThreadError} after 10 s.
 */
export function threadLocks(): <Result>(
  id: string,
  attempt: () => Promise<{ readonly result: Result } | undefined>,
) => Promise<Result> {
  const queues = new Map<string, Promise<void>>()

  return async (id, attempt) => {
    const begun = performance.now()
    const before = queues.get(id)
    let leave = () => {}
    const own = new Promise<void>((resolve) => {
      leave = resolve
    })
    const queue = before ? before.then(() => own) : own
    queues.set(id, queue)
    try {
      if (before) await withinLimit(id, before)
      for (let pause = 1; ; pause = Math.min(2 * pause, MAX_PAUSE)) {
        const done = await attempt()
        if (done) return done.result
        if (performance.now() - begun > LIMIT) throw new ThreadError(id, LOCKED)
        // Two processes do not keep asking at the same times.
        await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
      }
    } finally {
      leave()
      if (queues.get(id) === queue) queues.delete(id)
    }
  }
}

async function withinLimit(id: string, turn: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<void>((_, reject) => {
    timer = setTimeout(() => reject(new ThreadError(id, LOCKED)), LIMIT)
  })
  try {
    await Promise.race([turn, tooLong])
  } finally {
    clearTimeout(timer)
  }
}
