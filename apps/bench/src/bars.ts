/** What eager has to reach, and whether it did. */

import { type ComparisonRow, comparisonsOf, cpuOverFloor, earlyLag, pacedEager } from './comparison.ts'
import type { Entry } from './results.ts'
import { ALL_SCENARIOS } from './scenarios.ts'

/** One bar, and the scenario and wire that came worst. */
export interface Bar {
  readonly title: string
  readonly limit: number
  readonly worst: number
  readonly where: string
  readonly met: boolean
}

/** Of our own scenarios, those that were measured: they are for a quiet machine. */
export function barsOf(entries: readonly Entry[]): readonly Bar[] {
  const rows = comparisonsOf(entries)
    .filter(({ scenario }) => ALL_SCENARIOS.some((id) => id === scenario.id))
    .flatMap(({ scenario, rows }) => rows.map((row) => ({ row, where: `${scenario.id} ${row.wire}` })))
  return BARS.flatMap(({ title, limit, of }) => {
    const values = rows.flatMap(({ row, where }) => {
      const value = of(row)
      return value === null || value === undefined ? [] : [{ worst: value, where }]
    })
    const [worst] = values.toSorted((a, b) => b.worst - a.worst)
    return worst ? [{ title, limit, ...worst, met: worst.worst <= limit }] : []
  })
}

/** `✓ dispatch lag p99 at most 5 ms: at worst 1.204 in f anthropic` */
export function barText(bar: Bar): string {
  return `${bar.met ? '✓' : '✗'} ${bar.title}: at worst ${figureOf(bar)} in ${bar.where}`
}

/** In thousandths, or as fine as it takes to see on which side of its limit it is. */
function figureOf({ worst, limit, met }: Bar): string {
  let digits = 3
  while (Number(worst.toFixed(digits)) <= limit !== met) digits++
  return worst.toFixed(digits)
}

const BARS: readonly (Pick<Bar, 'title' | 'limit'> & { of(row: ComparisonRow): number | null | undefined })[] = [
  { title: 'eager at most 1.005 × the bound', limit: 1.005, of: (row) => pacedEager(row)?.ratioToBound },
  { title: 'dispatch lag p50 at most 0.5 ms', limit: 0.5, of: (row) => earlyLag(row)?.p50 },
  { title: 'dispatch lag p99 at most 5 ms', limit: 5, of: (row) => earlyLag(row)?.p99 },
  { title: 'CPU at most 2 × the bare loop’s', limit: 2, of: cpuOverFloor },
]

/** How much CPU time the present core may take, as a part of an older core's, if the older core takes the same in both processes. */
export const OLDER_CORE_LIMIT = 1.05

/** The same, if the older core differs from itself by this much. */
export const limitWithSpread = (spread: number): number => OLDER_CORE_LIMIT + spread
