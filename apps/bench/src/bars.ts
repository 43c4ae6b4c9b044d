/** The limits for eager tools, and whether the results meet them. */

import type { Entry } from './cell.ts'
import { type ComparisonRow, comparisonsOf, cpuOverFloor, earlyLag, pacedEager } from './comparison.ts'
import { ALL_SCENARIOS } from './scenarios.ts'

/** One limit, and the scenario and wire with the worst value. */
export interface Bar {
  readonly title: string
  readonly limit: number
  /** Whether the limit is a minimum. Default: it is a maximum. */
  readonly atLeast?: true
  readonly worst: number
  readonly where: string
  readonly met: boolean
}

/** Only for our own scenarios that were measured: the limits assume a quiet machine. */
export function barsOf(entries: readonly Entry[]): readonly Bar[] {
  const rows = comparisonsOf(entries)
    .filter(({ scenario }) => ALL_SCENARIOS.some((id) => id === scenario.id))
    .flatMap(({ scenario, rows }) => rows.map((row) => ({ row, where: `${scenario.id} ${row.wire}` })))
  return BARS.flatMap(({ title, limit, of }) => {
    const values = rows.flatMap(({ row, where }) => {
      const value = of(row)
      return value === null || value === undefined ? [] : [{ value, where }]
    })
    return worstOf({ title, limit }, values)
  })
}

/** The bar for the worst of the values; nothing without values. */
export function worstOf(
  bar: Pick<Bar, 'title' | 'limit' | 'atLeast'>,
  values: readonly { readonly value: number; readonly where: string }[],
): readonly Bar[] {
  const [worst] = values.toSorted((a, b) => (bar.atLeast ? a.value - b.value : b.value - a.value))
  return worst ? [{ ...bar, worst: worst.value, where: worst.where, met: meets(bar, worst.value) }] : []
}

function meets({ limit, atLeast }: Pick<Bar, 'limit' | 'atLeast'>, value: number): boolean {
  return atLeast ? value >= limit : value <= limit
}

/** `✓ dispatch lag p99 at most 5 ms: at worst 1.204 in f anthropic` */
export function barText(bar: Bar): string {
  return `${bar.met ? '✓' : '✗'} ${bar.title}: at worst ${figureOf(bar)} in ${bar.where}`
}

/** In thousandths, or with as many digits as show on which side of the limit it is. */
function figureOf(bar: Bar): string {
  const { worst, met } = bar
  let digits = 3
  while (meets(bar, Number(worst.toFixed(digits))) !== met) digits++
  return worst.toFixed(digits)
}

const BARS: readonly (Pick<Bar, 'title' | 'limit'> & { of(row: ComparisonRow): number | null | undefined })[] = [
  { title: 'eager at most 1.005 × the bound', limit: 1.005, of: (row) => pacedEager(row)?.ratioToBound },
  { title: 'dispatch lag p50 at most 0.5 ms', limit: 0.5, of: (row) => earlyLag(row)?.p50 },
  { title: 'dispatch lag p99 at most 5 ms', limit: 5, of: (row) => earlyLag(row)?.p99 },
  { title: 'CPU at most 2 × the bare loop’s', limit: 2, of: cpuOverFloor },
]

/** The limit for the CPU time of the present core, as a ratio to an older core's, if the older core takes the same in both processes. */
export const OLDER_CORE_LIMIT = 1.05

/** The same limit if the older core differs from itself by this much. */
export const limitWithSpread = (spread: number): number => OLDER_CORE_LIMIT + spread
