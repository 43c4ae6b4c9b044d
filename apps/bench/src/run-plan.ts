/** Plans which runs are made, and in what order: modes and wires take turns, so that a busy minute of the machine affects them equally. */

import type { WireName } from '@meanwhile/harness/server'
import type { Subject } from './contestant.ts'
import { isMode, type Mode, type Way } from './modes.ts'
import { rotated } from './rotated.ts'
import type { Scenario } from './scenario.ts'

export interface PlanOptions {
  readonly scenarios: readonly Scenario[]
  readonly wires: readonly WireName[]
  readonly ways: readonly Way[]
  /** How many times each mode runs; other libraries run as often as the baseline. */
  readonly runs: Readonly<Record<Mode, number>>
  /** Whether a way can run on a wire. Default: all can. */
  readonly can?: (way: Way, wire: WireName) => boolean
}

/** One run to make. Runs of one round are compared with one another. */
export interface Job extends Subject {
  readonly round: number
}

/** Three runs of each mode that is compared; one by one and the bare loop are not a baseline, so one run is enough. */
export const DEFAULT_RUNS: Readonly<Record<Mode, number>> = { sequential: 1, parallel: 3, eager: 3, floor: 1 }

export const FULL_RUNS = 7

/** Runs of each, with `--threads`. */
export const THREAD_RUNS = 15

/** Runs of each step, with `--saves`. */
export const SAVES_RUNS = 3

/** Runs of each, with `--pictures`: among as many, some are in time. */
export const PICTURES_RUNS = 7

/** For `--durable`: runs of each set-up, one at a time. */
export const DURABLE_RUNS = 20

export function planOf({ scenarios, wires, ways, runs, can = () => true }: PlanOptions): readonly Job[] {
  const runsOf = (way: Way): number => runs[isMode(way) ? way : 'parallel']
  const rounds = Math.max(...ways.map(runsOf))
  return Array.from({ length: rounds }, (_, round) =>
    scenarios.flatMap((scenario, s) => {
      const spoken = wires.filter((wire) => scenario.wires?.includes(wire) ?? true)
      return rotated(spoken, round).flatMap((wire, w) =>
        rotated(ways, round + s + w)
          .filter((way) => round < runsOf(way) && can(way, wire))
          .map((mode) => ({ scenario, wire, mode, round })),
      )
    }),
  ).flat()
}

/** The same number of runs for every mode. */
export function runsOf(count: number): Readonly<Record<Mode, number>> {
  return { sequential: count, parallel: count, eager: count, floor: count }
}

/** Whether other runs may go on at the same time: not where CPU time counts, nor with a real model. */
export function mayShare({ timing }: Pick<Scenario, 'timing'>): boolean {
  return timing === 'paced' || timing === 'recorded'
}
