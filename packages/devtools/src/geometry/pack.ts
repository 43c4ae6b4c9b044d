/** Puts many bars into few rows, so that bars in one row do not cover each other. */

import type { Span } from './axis.ts'

export const MOST_LANES = 12

/** The lane of each bar: the first one that is free. If all lanes are taken, bars share the one that becomes free first. */
export function lanesOf(bars: readonly Span[]): number[] {
  const free: number[] = []
  const lanes = bars.map(() => 0)
  const inOrder = [...bars.keys()].sort((a, b) => (bars[a]?.from ?? 0) - (bars[b]?.from ?? 0) || a - b)
  for (const index of inOrder) {
    const bar = bars[index]
    if (!bar) continue
    let lane = free.findIndex((until) => until <= bar.from)
    if (lane < 0) lane = free.length < MOST_LANES ? free.length : free.indexOf(Math.min(...free))
    free[lane] = Math.max(free[lane] ?? bar.to, bar.to)
    lanes[index] = lane
  }
  return lanes
}
