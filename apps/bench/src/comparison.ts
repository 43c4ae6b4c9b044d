/** Entries side by side: what both the table on the console and the one in the report show. */

import type { WireName } from '@meanwhile/harness/server'
import { milliseconds, NONE, ratio } from './format.ts'
import { MODES, type Mode } from './modes.ts'
import type { Entry } from './results.ts'
import { SCENARIOS, type Scenario, SHOWN_ORDER } from './scenarios.ts'

/** All that was measured of one scenario. */
export interface Comparison {
  readonly scenario: Scenario
  readonly rows: readonly ComparisonRow[]
}

export interface ComparisonRow {
  readonly wire: WireName
  readonly modes: Readonly<Partial<Record<Mode, Entry>>>
}

/** Scenarios in the order in which they are shown, wires in that of the entries. */
export function comparisonsOf(entries: readonly Entry[]): readonly Comparison[] {
  return SHOWN_ORDER.flatMap((id) => {
    const mine = entries.filter(({ scenario }) => scenario === id)
    const wires = [...new Set(mine.map(({ wire }) => wire))]
    const rows = wires.map((wire) => ({
      wire,
      modes: Object.fromEntries(mine.filter((entry) => entry.wire === wire).map((entry) => [entry.mode, entry])),
    }))
    return rows.length === 0 ? [] : [{ scenario: SCENARIOS[id], rows }]
  })
}

/** The modes that were measured. */
export function modesOf(entries: readonly Entry[]): readonly Mode[] {
  return MODES.filter((mode) => entries.some((entry) => entry.mode === mode))
}

/** A row's eager entry, where savings and lags mean something: of a model that speaks as fast as it can they are noise. */
export function pacedEager({ modes }: ComparisonRow): Entry | undefined {
  return modes.eager && isPaced(modes.eager) ? modes.eager : undefined
}

export function isPaced({ scenario }: Entry): boolean {
  return SCENARIOS[scenario].pace !== undefined
}

/** How many times the CPU time of the bare loop eager took, where CPU time is what counts. */
export function cpuOverFloor({ modes: { eager, floor } }: ComparisonRow): number | undefined {
  return eager?.cpuUserMs && floor?.cpuUserMs ? eager.cpuUserMs / floor.cpuUserMs : undefined
}

/** What stands beside a wall-clock: how near to the bound it is, or the CPU time where the bound moves with the client. */
export function beside(entry: Entry): string {
  return isPaced(entry) ? `${ratio(entry.ratioToBound)}×` : `${milliseconds(entry.cpuUserMs)} CPU`
}

/** How far the prediction was off, or what eager tools cost where nothing started early, and whether that is little enough. */
export function checkText(entry: Entry | undefined): string {
  if (!entry) return NONE
  const { predictionError, overhead, holds } = entry
  const share = overhead ?? (holds.prediction === null ? null : predictionError)
  const mark = { true: ' ✓', false: ' ✗', null: '' }[`${overhead === null ? holds.prediction : holds.overhead}`]
  return share === null ? NONE : `${(share * 100).toFixed(1)} %${mark}`
}
