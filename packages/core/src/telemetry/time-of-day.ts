/**
 * The time of day for spans, as fine as `performance.now()`. An SDK asks for it at each span and gets whole milliseconds, in
 * which spans that follow each other would stand in any order.
 */

import type { HrTime } from '@opentelemetry/api'

let latest = 0

/**
 * Whole milliseconds from the epoch to the zero of `performance.now()`. The same for every run, so that those that follow each
 * other stand in their order, until the clocks have come apart.
 */
export function epochNow(): number {
  const now = Math.round(Date.now() - performance.now())
  // Of the one clock only whole milliseconds are known.
  if (Math.abs(now - latest) > 1) latest = now
  return latest
}

/** `at`: in `performance.now()`. In two parts, as one number of milliseconds is no finer than a quarter of a microsecond. */
export function timeOfDay(epoch: number, at: number): HrTime {
  const whole = Math.floor(at)
  return [Math.floor((epoch + whole) / 1000), ((epoch + whole) % 1000) * 1e6 + Math.floor((at - whole) * 1e6)]
}
