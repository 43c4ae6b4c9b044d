/** Measures CPU time, and summarizes several measurements. */

import { median, percentile } from '../stats.ts'
import type { Spread } from './table.ts'

/**
 * Microseconds of this process's CPU time: other work on the machine does not count. Garbage is not collected before:
 * a forced collection also discards compiled code, and the next work takes three times as long.
 */
export async function cpuOf(work: () => Promise<void>): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return user + system
}

export function spreadOf(values: readonly number[]): Spread {
  const at = (part: number): number => percentile(values, part) ?? Number.NaN
  return { median: median(values) ?? Number.NaN, low: at(0.25), high: at(0.75) }
}
