/** From runs to figures: one entry per scenario, wire and mode. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { BenchOptions } from './cli.ts'
import type { Environment } from './environment.ts'
import type { FaultCell } from './faults/matrix.ts'
import type { Sample, Timeline } from './measure.ts'
import { BASELINE, MODES, type Mode } from './modes.ts'
import { isLate, type Made } from './runner.ts'
import { ALL_SCENARIOS, type ScenarioId } from './scenarios.ts'
import { median, pairedDifferences, percentile, range } from './stats.ts'
import type { TransportLag } from './transport-lag.ts'

/** Medians over the runs that count, in milliseconds, where not said otherwise; `null` where there is nothing to tell. */
export interface Entry {
  readonly scenario: ScenarioId
  readonly wire: WireName
  readonly mode: Mode
  /** How many runs count. */
  readonly runs: number
  readonly wallMs: number | null
  readonly wallMsRange: readonly [min: number, max: number] | null
  readonly boundMs: number | null
  /** Of each run its wall-clock over its own bound. */
  readonly ratioToBound: number | null
  /** Against the parallel run of the same round; negative: it took longer. */
  readonly savedMs: number | null
  readonly savedMsRange: readonly [min: number, max: number] | null
  /** The most that starting early could have saved, by this run's own stream. */
  readonly possibleSavingMs: number | null
  /** Last argument byte written → tool entered: `first` of each run's first call, the others of all calls of all runs. */
  readonly dispatchLagMs: {
    readonly first: number
    readonly p50: number
    /** Nearest rank: of fewer than 100 calls the latest. */
    readonly p99: number
    readonly max: number
  } | null
  /** Stream and tools done → the next request arrived. */
  readonly turnaroundMs: number | null
  /** Calls whose tool was entered before the stream's end, of one run. */
  readonly startedEarly: number | null
  /** User time of the process; for scenarios that run alone. */
  readonly cpuUserMs: number | null
  /** The latest write of the server in any of the runs. */
  readonly latestWriteMs: number | null
  /** Runs in which the server wrote late: thrown away and repeated, and those that count all the same. */
  readonly late: { readonly repeated: number; readonly kept: number }
  /** Why runs failed. They are not in the medians. */
  readonly failed: readonly string[]
}

/** All there is to tell. */
export interface Results {
  readonly environment: Environment
  readonly options: BenchOptions
  /** What the way from server to reader takes by itself. */
  readonly transportLagMs: TransportLag | null
  /** The most memory this process held. */
  readonly peakRssMb: number
  readonly cells: readonly Cell[]
  readonly faults?: readonly FaultCell[]
}

/** An entry, and a run to draw it by. */
export interface Cell {
  readonly entry: Entry
  /** The run whose wall-clock is nearest to the median. */
  readonly typical?: Timeline
}

/** By scenario, wire and mode, each in its own order. */
export function cellsOf(made: readonly Made[]): readonly Cell[] {
  return ALL_SCENARIOS.flatMap((id) =>
    WIRE_NAMES.flatMap((wire) => MODES.flatMap((mode) => cellOf(id, wire, mode, made))),
  )
}

function cellOf(scenario: ScenarioId, wire: WireName, mode: Mode, made: readonly Made[]): readonly Cell[] {
  const here = made.filter((run) => run.scenario.id === scenario && run.wire === wire)
  const group = here.filter((run) => run.mode === mode)
  if (group.length === 0) return []
  const figures = figuresOf(
    group,
    here.filter((run) => run.mode === BASELINE),
  )
  const typical = typicalOf(group, figures.wallMs)
  return [{ entry: { scenario, wire, mode, ...figures }, ...(typical && { typical: typical.timeline }) }]
}

function figuresOf(group: readonly Made[], baseline: readonly Made[]): Omit<Entry, 'scenario' | 'wire' | 'mode'> {
  const samples = samplesOf(group)
  const of = (value: (sample: Sample) => number | undefined): number[] =>
    samples.map(value).filter((number) => number !== undefined)
  const saved = pairedDifferences(wallByRound(group), wallByRound(baseline))
  const unpaced = group.some(({ scenario }) => !scenario.pace)
  return {
    runs: samples.length,
    wallMs: tidy(median(of(({ wallMs }) => wallMs))),
    wallMsRange: tidyRange(range(of(({ wallMs }) => wallMs))),
    boundMs: tidy(median(of(({ boundMs }) => boundMs))),
    ratioToBound: tidy(median(of(({ wallMs, boundMs }) => wallMs / boundMs)), 4),
    savedMs: tidy(median(saved)),
    savedMsRange: tidyRange(range(saved)),
    possibleSavingMs: tidy(median(of(({ possibleMs }) => possibleMs))),
    dispatchLagMs: lagOf(samples),
    turnaroundMs: tidy(median(of(({ turnaroundMs }) => turnaroundMs))),
    startedEarly: median(of(({ early }) => early)) ?? null,
    cpuUserMs: unpaced ? tidy(median(of(({ cpuUserMs }) => cpuUserMs))) : null,
    latestWriteMs: tidy(range(of(({ latenessMs }) => latenessMs))?.[1]),
    late: {
      repeated: group.reduce((sum, { repeated }) => sum + repeated, 0),
      kept: group.filter(isLate).length,
    },
    failed: group.flatMap(({ failure }) => failure ?? []),
  }
}

function lagOf(samples: readonly Sample[]): Entry['dispatchLagMs'] {
  const all = samples.flatMap(({ lagMs }) => lagMs)
  const first = tidy(median(samples.flatMap(({ lagMs }) => lagMs[0] ?? [])))
  const p50 = tidy(median(all))
  const p99 = tidy(percentile(all, 0.99))
  const max = tidy(range(all)?.[1])
  return first === null || p50 === null || p99 === null || max === null ? null : { first, p50, p99, max }
}

function typicalOf(group: readonly Made[], wallMs: number | null): Sample | undefined {
  const distance = (sample: Sample): number => Math.abs(sample.wallMs - (wallMs ?? 0))
  return samplesOf(group).toSorted((a, b) => distance(a) - distance(b))[0]
}

function samplesOf(group: readonly Made[]): Sample[] {
  return group.flatMap(({ sample }) => sample ?? [])
}

function wallByRound(group: readonly Made[]): ReadonlyMap<number, number> {
  return new Map(group.flatMap(({ round, sample }) => (sample ? [[round, sample.wallMs] as const] : [])))
}

/** Microseconds are enough, and easier to read. */
function tidy(value: number | undefined, digits = 3): number | null {
  return value === undefined ? null : Number(value.toFixed(digits))
}

function tidyRange(value: readonly [number, number] | undefined): readonly [number, number] | null {
  return value ? [Number(value[0].toFixed(3)), Number(value[1].toFixed(3))] : null
}

/** What the figures of the JSON mean: for who reads it without the report. */
export const UNITS = {
  wallMs: 'milliseconds from the call of agent.run to its result; median',
  boundMs: 'the shortest that run could have been, by what its server really sent; median',
  ratioToBound: 'wallMs over boundMs of each run; median',
  savedMs: 'milliseconds less than parallel tools in the same round, negative if more; median of the differences',
  dispatchLagMs: 'milliseconds from the last argument byte of a call written by the server to its tool entered',
  faults:
    'executions that the run without eager tools would not have, or would have; `early`: all begun while the model was speaking',
} as const
