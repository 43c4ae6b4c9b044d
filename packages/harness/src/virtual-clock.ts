/** Time that passes when a test says so. */

import { setImmediate } from 'node:timers/promises'
import type { Clock } from './time.ts'

export interface VirtualClock extends Clock {
  /** From 0 on. */
  now(): number
  /**
   * Lets so much time pass. What is due on the way happens in its order, and what follows from it without waiting for anything real
   * (a timer, a file, a socket) has happened before the next thing is due.
   */
  advance(ms: number): Promise<void>
  /** Lets time pass until nothing waits for it any more: for ever, if a stall sends comments and nobody leaves. */
  run(): Promise<void>
  /** For the tools of a test: resolves after so much of its time, rejects with the signal's reason. */
  sleep(ms: number, options?: { readonly signal?: AbortSignal }): Promise<void>
}

/**
 * A clock that stands still between its advances. The schedule of a mock is the same on it as on the machine's, and no late write is
 * on it: every one is sent when it is due.
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

  /** Until nobody has come to wait for some turns of the event loop. */
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

/** More than a request and its answer take under MSW. */
const QUIET = 20

/** The one due first; of those due at the same time the one that came first. */
function first(sleepers: readonly Sleeper[]): Sleeper | undefined {
  return sleepers.reduce<Sleeper | undefined>((best, next) => (best && best.due <= next.due ? best : next), undefined)
}
