/** CPU time, and what several measurements of it come to. */

import { median, percentile } from '../stats.ts'
import type { Spread } from './table.ts'

/**
 * Microseconds of this process's processor time: what else the machine does is no cost of ours. Garbage is not collected before:
 * a forced collection throws compiled code away, too, and what follows takes three times as long.
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
