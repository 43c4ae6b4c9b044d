/** Which runs there are, and in what order: modes and wires take turns, so that a busy minute of the machine hits them alike. */

import { beats } from '@meanwhile/core/testing'
import type { WireName } from '@meanwhile/harness/server'
import type { Subject } from './measure.ts'
import type { Mode } from './modes.ts'
import { SCENARIOS, type Scenario, type ScenarioId } from './scenarios.ts'

export interface PlanOptions {
  readonly scenarios: readonly ScenarioId[]
  readonly wires: readonly WireName[]
  readonly modes: readonly Mode[]
  /** How often each mode runs. */
  readonly runs: Readonly<Record<Mode, number>>
}

/** One run to make. Runs of one round are compared with one another. */
export interface Job extends Subject {
  readonly round: number
}

/** Three runs of what is compared; one by one and the bare loop are nobody's baseline, so one run must do. */
export const DEFAULT_RUNS: Readonly<Record<Mode, number>> = { sequential: 1, parallel: 3, eager: 3, floor: 1 }

export const FULL_RUNS = 7

export function planOf({ scenarios, wires, modes, runs }: PlanOptions): readonly Job[] {
  const rounds = Math.max(...modes.map((mode) => runs[mode]))
  return Array.from({ length: rounds }, (_, round) =>
    scenarios.flatMap((id, s) =>
      rotated(wires, round).flatMap((wire, w) =>
        rotated(modes, round + s + w)
          .filter((mode) => round < runs[mode])
          .map((mode) => ({ scenario: SCENARIOS[id], wire, mode, round })),
      ),
    ),
  ).flat()
}

/** The same number of runs for every mode. */
export function runsOf(count: number): Readonly<Record<Mode, number>> {
  return { sequential: count, parallel: count, eager: count, floor: count }
}

/** How long a run takes at the least, by the theory: for the progress bar. */
export function expectedMs({ scenario: { script, calls, pace }, mode }: Subject): number {
  if (!pace) return UNPACED_MS
  const [asking = [], answering = []] = script.map((response) => beats(response, pace))
  const end = asking.at(-1)?.at ?? 0
  const ready = asking.filter((beat) => beat.type === 'call-end').map(({ at }) => at)
  const durations = calls.map(({ toolMs }) => toolMs)
  const early = Math.max(end, ...durations.map((ms, index) => (ready[index] ?? end) + ms))
  const done = {
    sequential: end + durations.reduce((sum, ms) => sum + ms, 0),
    parallel: end + Math.max(0, ...durations),
    eager: early,
    floor: early,
  }
  return done[mode] + (answering.at(-1)?.at ?? 0)
}

const UNPACED_MS = 300

/** Whether other runs may go on at the same time: not where CPU time is what counts. */
export function mayShare(scenario: Scenario): boolean {
  return scenario.pace !== undefined
}

function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
