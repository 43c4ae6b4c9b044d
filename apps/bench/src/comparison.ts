/** Groups entries by scenario and wire, for the tables on the console and in the report. */

import type { WireName } from '@meanwhile/harness/server'
import type { Entry } from './cell.ts'
import { milliseconds, NONE, ratio } from './format.ts'
import { MODES, type Mode, PEERS, type PeerName, type Way } from './modes.ts'
import { SHOWN_ORDER } from './scenarios.ts'

/** All results of one scenario. */
export interface Comparison {
  readonly scenario: Label
  readonly rows: readonly ComparisonRow[]
}

/** How a scenario is labelled. */
export type Label = Pick<Entry, 'title' | 'shape' | 'timing'> & { readonly id: string }

export interface ComparisonRow {
  readonly wire: WireName
  readonly modes: Readonly<Partial<Record<Way, Entry>>>
}

/** Scenarios in the order in which they are shown, those of users in order of appearance; wires in the order of the entries. */
export function comparisonsOf(entries: readonly Entry[]): readonly Comparison[] {
  return shown(entries).map((scenario) => {
    const mine = entries.filter((entry) => entry.scenario === scenario.id)
    const wires = [...new Set(mine.map(({ wire }) => wire))]
    const rows = wires.map((wire) => ({
      wire,
      modes: Object.fromEntries(mine.filter((entry) => entry.wire === wire).map((entry) => [entry.mode, entry])),
    }))
    return { scenario, rows }
  })
}

function shown(entries: readonly Entry[]): readonly Label[] {
  const labels = new Map(
    entries.map(({ scenario: id, title, shape, timing }) => [id, { id, title, shape, timing }] as const),
  )
  const ours = SHOWN_ORDER.flatMap((id) => labels.get(id) ?? [])
  return [...ours, ...[...labels.values()].filter((label) => !ours.includes(label))]
}

/** The modes that were measured. */
export function modesOf(entries: readonly Entry[]): readonly Mode[] {
  return MODES.filter((mode) => entries.some((entry) => entry.mode === mode))
}

/** The other libraries that were measured. */
export function peersOf(entries: readonly Entry[]): readonly PeerName[] {
  return PEERS.filter((peer) => entries.some((entry) => entry.mode === peer))
}

/** A row's eager entry, if savings and lags mean something: for a model that streams as fast as it can they are noise. */
export function pacedEager({ modes }: ComparisonRow): Entry | undefined {
  return modes.eager && isPaced(modes.eager) ? modes.eager : undefined
}

/** A row's dispatch lag, if calls of its eager runs started early: other calls wait for more than their arguments. */
export function earlyLag(row: ComparisonRow): Entry['dispatchLagMs'] {
  const eager = pacedEager(row)
  return eager?.startedEarly ? eager.dispatchLagMs : null
}

export function isPaced({ timing }: Pick<Entry, 'timing'>): boolean {
  return timing !== 'at-once'
}

/** Whether the server was ours, and reported when it sent what. */
export function isServedHere(entries: readonly Entry[]): boolean {
  return entries.some(({ timing }) => timing !== 'live')
}

/** The CPU time of eager as a ratio to the bare loop's, where CPU time is what counts. */
export function cpuOverFloor({ modes: { eager, floor } }: ComparisonRow): number | undefined {
  return eager?.cpuUserMs && floor?.cpuUserMs ? eager.cpuUserMs / floor.cpuUserMs : undefined
}

/** The text next to a wall-clock: the ratio to the bound, or the CPU time where the bound moves with the client; empty without a bound. */
export function beside(entry: Entry): string {
  if (!isPaced(entry)) return `${milliseconds(entry.cpuUserMs)} CPU`
  return entry.ratioToBound === null ? '' : `${ratio(entry.ratioToBound)}×`
}

/** The error of the prediction, or the cost of eager tools where nothing started early, and whether it is within its limit. */
export function checkText(entry: Entry | undefined): string {
  if (!entry) return NONE
  const { predictionError, overhead, holds } = entry
  const share = overhead ?? (holds.prediction === null ? null : predictionError)
  const mark = { true: ' ✓', false: ' ✗', null: '' }[`${overhead === null ? holds.prediction : holds.overhead}`]
  return share === null ? NONE : `${(share * 100).toFixed(1)} %${mark}`
}
