/** Counts the statements that a store sends, and lets fake time pass only while it waits for none. */

import type { Pool } from 'pg'
import { vi } from 'vitest'
import type { PostgresThreadsOptions } from '../src/postgres.ts'

export interface CountedPool {
  readonly pool: PostgresThreadsOptions['pool']
  /** The statements since the last call of this function. */
  taken(): readonly string[]
  /** Lets this many milliseconds of fake time pass in steps of 20 ms, each when no statement is open. */
  pass(ms: number): Promise<void>
  /** Lets fake time pass in steps of 20 ms, until the promise has settled. Returns how many milliseconds have passed. */
  passUntil(end: Promise<unknown>): Promise<number>
}

/** Milliseconds of fake time that pass at once. */
const STEP = 20

/** Fakes the timers and clocks, but not `setImmediate`. */
export function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] })
}

export function countedPool(pool: Pool): CountedPool {
  let statements: string[] = []
  let open = 0
  const counted = async <Result>(text: string, run: () => Promise<Result>): Promise<Result> => {
    statements.push(text)
    return await waited(run)
  }
  const waited = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    open++
    try {
      return await run()
    } finally {
      open--
    }
  }
  const settled = async () => {
    // A store that has an answer may send the next statement.
    for (let quiet = 0; quiet < 5; quiet = open === 0 ? quiet + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    pool: {
      query: (text, values) => counted(text, () => pool.query(text, values)),
      async connect() {
        const client = await waited(() => pool.connect())
        return {
          query: (text, values) => counted(text, () => client.query(text, values)),
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (isLost) => client.release(isLost),
        }
      },
    },
    taken() {
      const taken = statements
      statements = []
      return taken
    },
    async pass(ms) {
      await settled()
      for (let left = ms; left > 0; left -= STEP) {
        await vi.advanceTimersByTimeAsync(Math.min(left, STEP))
        await settled()
      }
    },
    async passUntil(end) {
      let isOver = false
      const over = () => {
        isOver = true
      }
      end.then(over, over)
      for (let passed = 0; ; passed += STEP) {
        await settled()
        if (isOver) return passed
        await vi.advanceTimersByTimeAsync(STEP)
      }
    },
  }
}
