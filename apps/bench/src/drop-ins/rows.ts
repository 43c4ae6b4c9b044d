/** Compares a loop without and with its drop-in. */

import type { WireName } from '@meanwhile/harness/server'
import type { Entry } from '../cell.ts'
import { NOISE } from '../report/noise.ts'
import { ALL_LOOPS, eagerWay, type LoopName, waysOf } from './loops.ts'
import { OWN_TIME } from './scenarios.ts'

/** A loop on a wire in a scenario. */
export interface DropInRow {
  readonly scenario: string
  readonly loop: LoopName
  readonly wire: WireName
  /** `null`: the loop does not stream by itself, so the server cannot serve it without the drop-in. */
  readonly plain: LoopFigures | null
  readonly eager: LoopFigures | null
  /** The share of the plain loop's time beyond its bound that the eager loop saves; `null` if the plain loop loses nothing, or if the drop-in is none that saves time. */
  readonly wonBack: number | null
}

/** Medians of the runs that count, in milliseconds; `null` if there is none. */
export interface LoopFigures {
  readonly runs: number
  readonly wallMs: number | null
  readonly ratioToBound: number | null
  /** From the last argument byte of the first call, written by the server, to the start of its tool. */
  readonly firstToolMs: number | null
}

/** The time of the loop itself. */
export interface OwnTime {
  readonly loop: LoopName
  readonly wire: WireName
  /** With tools of 0 ms: its time as a ratio to the bound of the run. */
  readonly ratioToBound: number | null
  /** Whether that is so much that little can be saved. */
  readonly isSlow: boolean
}

/** A loop above this ratio with tools of 0 ms loses time that no drop-in can save. */
export const OWN_TIME_LIMIT = 1.03

/** In the order of the scenarios, the loops and the wires. */
export function rowsOf(entries: readonly Entry[]): readonly DropInRow[] {
  return scenariosOf(entries).flatMap((scenario) =>
    ALL_LOOPS.flatMap(({ name: loop, of, wires }) =>
      wires.flatMap((wire) => {
        const plain = entryOf(entries, scenario, wire, of ?? loop)
        const eager = entryOf(entries, scenario, wire, eagerWay(loop))
        if ((!plain || of) && !eager) return []
        return [
          {
            scenario,
            loop,
            wire,
            plain: figuresOf(plain),
            eager: figuresOf(eager),
            wonBack: of ? null : wonBack(plain, eager),
          },
        ]
      }),
    ),
  )
}

export function ownTimesOf(entries: readonly Entry[]): readonly OwnTime[] {
  return ALL_LOOPS.flatMap((loop) =>
    loop.wires.flatMap((wire) => {
      const entry = waysOf(loop).flatMap((way) => entryOf(entries, OWN_TIME.id, wire, way) ?? [])[0]
      const ratioToBound = entry?.ratioToBound ?? null
      if (!entry) return []
      return [{ loop: loop.name, wire, ratioToBound, isSlow: ratioToBound !== null && ratioToBound > OWN_TIME_LIMIT }]
    }),
  )
}

export function rowsIn(rows: readonly DropInRow[], scenario: string): readonly DropInRow[] {
  return rows.filter((row) => row.scenario === scenario)
}

function scenariosOf(entries: readonly Entry[]): readonly string[] {
  return [...new Set(entries.map(({ scenario }) => scenario))].filter((id) => id !== OWN_TIME.id)
}

function entryOf(entries: readonly Entry[], scenario: string, wire: WireName, mode: Entry['mode']): Entry | undefined {
  return entries.find((entry) => entry.scenario === scenario && entry.wire === wire && entry.mode === mode)
}

function figuresOf(entry: Entry | undefined): LoopFigures | null {
  if (!entry) return null
  const { runs, wallMs, ratioToBound, dispatchLagMs } = entry
  return { runs, wallMs, ratioToBound, firstToolMs: dispatchLagMs?.first ?? null }
}

function wonBack(plain: Entry | undefined, eager: Entry | undefined): number | null {
  const [before, after] = [lostBy(plain), lostBy(eager)]
  if (before === null || after === null || before < NOISE * (plain?.wallMs ?? 0)) return null
  return Number((1 - after / before).toFixed(4))
}

/** Milliseconds beyond the bound. */
function lostBy(entry: Entry | undefined): number | null {
  return entry && entry.wallMs !== null && entry.boundMs !== null ? entry.wallMs - entry.boundMs : null
}
