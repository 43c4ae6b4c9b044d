/** A clock whose time passes only when a test advances it. */

import { setImmediate } from 'node:timers/promises'
import type { Clock } from './time.ts'

/** A clock that only moves when a test tells it to. */
export interface VirtualClock extends Clock {
  /** Starts at 0. */
  now(): number
  /**
   * Lets this many milliseconds pass. Everything due happens in order, and its consequences happen before the next
   * thing is due, unless they wait for something real (a timer, a file, a socket).
   */
  advance(ms: number): Promise<void>
  /** Lets time pass until nothing waits for it. Never resolves if a stall sends comments and no client disconnects. */
  run(): Promise<void>
  /** For the tools of a test: resolves after this many milliseconds, or rejects with the signal's reason. */
  sleep(ms: number, options?: { readonly signal?: AbortSignal }): Promise<void>
}

/**
 * Creates a clock that stands still between its advances. A mock has the same schedule on it as on the machine's clock,
 * and no write is late.
 *
 * @example
 * const clock = virtualClock()
 * const mock = mockModels({ script, pace, clock })
 * const answer = ask(mock.fetch)
 * await clock.advance(30_000) // takes no time
 */
export function virtualClock(): VirtualClock {
  const sleepers: Sleeper[] = []
  let time = 0
  let came = 0

  return {
    now: () => time,
    until,
    advance: (ms) => pass(time + ms),
    run: () => pass(),
    async sleep(ms, { signal } = {}) {
      signal?.throwIfAborted()
      await until(time + ms, signal)
      signal?.throwIfAborted()
    },
  }

  function until(due: number, signal?: AbortSignal): Promise<void> {
    came++
    if (due <= time || signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const sleeper = { due, wake }
      sleepers.push(sleeper)
      signal?.addEventListener('abort', wake, { once: true })

      function wake(): void {
        signal?.removeEventListener('abort', wake)
        const at = sleepers.indexOf(sleeper)
        if (at >= 0) sleepers.splice(at, 1)
        resolve()
      }
    })
  }

  async function pass(end?: number): Promise<void> {
    await quiet()
    for (let next = first(sleepers); next && (end === undefined || next.due <= end); next = first(sleepers)) {
      time = Math.max(time, next.due)
      next.wake()
      await quiet()
    }
    if (end !== undefined) time = Math.max(time, end)
  }

  /** Waits until no new waiter has arrived for some turns of the event loop. */
  async function quiet(): Promise<void> {
    let seen = came
    for (let turns = 0; turns < QUIET; turns++) {
      await setImmediate()
      if (came === seen) continue
      seen = came
      turns = 0
    }
  }
}

interface Sleeper {
  readonly due: number
  wake(): void
}

/** More turns than a request and its response take with MSW. */
const QUIET = 20

/** The one due first; if several are, the one that was added first. */
function first(sleepers: readonly Sleeper[]): Sleeper | undefined {
  return sleepers.reduce<Sleeper | undefined>((best, next) => (best && best.due <= next.due ? best : next), undefined)
}
