/** How the CPU time of a run grows with the size of its arguments: the data of the chart, its text and its table. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { Entry } from '../cell.ts'
import { CONTENDERS, type Contender, type Way } from '../modes.ts'
import { ARGUMENT_KB } from '../scenarios.ts'

export interface GrowthPoint {
  readonly wire: WireName
  readonly way: Way
  readonly kilobytes: number
  readonly cpuMs: number
}

/** Measurements at two sizes or more, on one wire in one way. */
export interface Growth {
  readonly wire: WireName
  readonly way: Contender
  /** From the smallest size on. */
  readonly points: readonly GrowthPoint[]
}

export function growthOf(entries: readonly Entry[]): readonly Growth[] {
  const points = pointsOf(entries)
  return WIRE_NAMES.flatMap((wire) =>
    CONTENDERS.map((way) => ({
      wire,
      way,
      points: points.filter((point) => point.wire === wire && point.way === way),
    })),
  ).filter((growth) => growth.points.length > 1)
}

export function wiresOf(growths: readonly Growth[]): WireName[] {
  return [...new Set(growths.map(({ wire }) => wire))]
}

/** In kilobytes, the smallest first. */
export function sizesOf(growths: readonly Growth[]): number[] {
  const sizes = growths.flatMap(({ points }) => points.map(({ kilobytes }) => kilobytes))
  return [...new Set(sizes)].sort((a, b) => a - b)
}

function pointsOf(entries: readonly Entry[]): readonly GrowthPoint[] {
  return Object.entries(ARGUMENT_KB).flatMap(([id, kilobytes]) =>
    entries.flatMap(({ scenario, wire, mode, cpuUserMs }) =>
      scenario === id && cpuUserMs !== null ? [{ wire, way: mode, kilobytes, cpuMs: cpuUserMs }] : [],
    ),
  )
}
