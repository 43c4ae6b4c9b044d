/** The clocks that schedules can use. */

import { clock } from './clock.ts'

/** The clock that a script is played by. */
export interface Clock {
  /** Milliseconds, with fractions. */
  now(): number
  /** Resolves at that time, never earlier; or when the signal aborts. */
  until(due: number, signal: AbortSignal): Promise<void>
}

/** The machine's {@link clock}, with the timers of the global scope, so fake timers work. */
export const systemClock: Clock = {
  now: clock,
  until: (due, signal) => wait(due, signal, 0),
}

const SPIN = 2

/** Wakes up 2 ms early and busy-waits. Uses CPU, so it is for a process that does nothing else. */
export const preciseClock: Clock = {
  now: clock,
  async until(due, signal) {
    await wait(due, signal, SPIN)
    while (clock() < due && !signal.aborted) await new Promise(setImmediate)
  },
}

async function wait(due: number, signal: AbortSignal, early: number): Promise<void> {
  // A timer may fire slightly early: check again.
  for (let left = due - clock(); left > early && !signal.aborted; left = due - clock())
    await sleep(left - early, signal)
}

/** Resolves after this many milliseconds, or when the signal aborts. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(wake, Math.ceil(ms))
    signal.addEventListener('abort', wake, { once: true })

    function wake(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      resolve()
    }
  })
}
