/** Fake time for each test of a file, and a log of what happens when. */

import { beforeEach, vi } from 'vitest'

interface TimedLog {
  /** What was logged, with times. Empty when a test begins. */
  readonly log: string[]
  /** The milliseconds since the test began. */
  at(): number
  note(what: string): void
  /** Restarts within a test: the log is empty, and the time is 0. */
  restart(): void
  /** A time of the test in milliseconds since the epoch. */
  timeOf(ms: number): number
}

/** Call this at the top of a test file. */
export function timedLog(options: Parameters<typeof vi.useFakeTimers>[0] = {}): TimedLog {
  const log: string[] = []
  let begin = 0
  const restart = () => {
    log.length = 0
    begin = performance.now()
  }
  beforeEach(() => {
    vi.useFakeTimers(options)
    restart()
    return () => void vi.useRealTimers()
  })
  const at = () => Math.round(performance.now() - begin)
  return {
    log,
    at,
    note: (what) => void log.push(`${at()} ${what}`),
    restart,
    timeOf: (ms) => performance.timeOrigin + begin + ms,
  }
}
