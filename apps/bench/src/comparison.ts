/** Entries side by side: what both the table on the console and the one in the report show. */

import type { WireName } from '@meanwhile/harness/server'
import { milliseconds, NONE, ratio } from './format.ts'
import { MODES, type Mode, PEERS, type PeerName, type Way } from './modes.ts'
import type { Entry } from './results.ts'
import { SHOWN_ORDER } from './scenarios.ts'

/** All that was measured of one scenario. */
export interface Comparison {
  readonly scenario: Label
  readonly rows: readonly ComparisonRow[]
}

/** What a scenario is called. */
export type Label = Pick<Entry, 'title' | 'shape' | 'timing'> & { readonly id: string }

export interface ComparisonRow {
  readonly wire: WireName
  readonly modes: Readonly<Partial<Record<Way, Entry>>>
}

/** Scenarios in the order in which they are shown, those of users as they come; wires in the order of the entries. */
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

/** The libraries of others that were measured. */
export function peersOf(entries: readonly Entry[]): readonly PeerName[] {
  return PEERS.filter((peer) => entries.some((entry) => entry.mode === peer))
}

/** A row's eager entry, where savings and lags mean something: of a model that speaks as fast as it can they are noise. */
export function pacedEager({ modes }: ComparisonRow): Entry | undefined {
  return modes.eager && isPaced(modes.eager) ? modes.eager : undefined
}

/** A row's dispatch lag, where calls of its eager runs started early: one that may not waits for more than its arguments. */
export function earlyLag(row: ComparisonRow): Entry['dispatchLagMs'] {
  const eager = pacedEager(row)
  return eager?.startedEarly ? eager.dispatchLagMs : null
}

export function isPaced({ timing }: Pick<Entry, 'timing'>): boolean {
  return timing !== 'at-once'
}

/** Whether the server was ours, and said when it sent what. */
export function isServedHere(entries: readonly Entry[]): boolean {
  return entries.some(({ timing }) => timing !== 'live')
}

/** How many times the CPU time of the bare loop eager took, where CPU time is what counts. */
export function cpuOverFloor({ modes: { eager, floor } }: ComparisonRow): number | undefined {
  return eager?.cpuUserMs && floor?.cpuUserMs ? eager.cpuUserMs / floor.cpuUserMs : undefined
}

/** What stands beside a wall-clock: how near to the bound it is, or the CPU time where the bound moves with the client; nothing where there is no bound. */
export function beside(entry: Entry): string {
  if (!isPaced(entry)) return `${milliseconds(entry.cpuUserMs)} CPU`
  return entry.ratioToBound === null ? '' : `${ratio(entry.ratioToBound)}×`
}

/** How far the prediction was off, or what eager tools cost where nothing started early, and whether that is little enough. */
export function checkText(entry: Entry | undefined): string {
  if (!entry) return NONE
  const { predictionError, overhead, holds } = entry
  const share = overhead ?? (holds.prediction === null ? null : predictionError)
  const mark = { true: ' ✓', false: ' ✗', null: '' }[`${overhead === null ? holds.prediction : holds.overhead}`]
  return share === null ? NONE : `${(share * 100).toFixed(1)} %${mark}`
}
