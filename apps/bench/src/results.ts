/** From runs to figures: one entry per scenario, wire and mode. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { BenchOptions } from './cli.ts'
import type { Environment } from './environment.ts'
import type { FaultCell } from './faults/matrix.ts'
import type { Sample, Timeline } from './measure.ts'
import { BASELINE, MODES, type Mode } from './modes.ts'
import { NOISE } from './report/noise.ts'
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
  /** What eager runs say themselves, by the durations and times they saw (`result.savings`). */
  readonly predictedSavedMs: number | null
  /** How far that is from what was measured in the same round, of the time of the steps with calls. */
  readonly predictionError: number | null
  /** What having eager tools costs where nothing starts early: of the wall-clock of the parallel run of the same round. */
  readonly overhead: number | null
  /** Whether what is promised holds; `null` where it says nothing, for want of a saving or of runs without one. */
  readonly holds: { readonly prediction: boolean | null; readonly overhead: boolean | null }
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
  const wallMs = median(of(({ wallMs }) => wallMs))
  const possibleMs = median(of(({ possibleMs }) => possibleMs))
  const check = checkOf(group, baseline)
  const mayGain = possibleMs !== undefined && wallMs !== undefined && possibleMs >= NOISE * wallMs
  const unpaced = group.some(({ scenario }) => !scenario.pace)
  return {
    runs: samples.length,
    wallMs: tidy(wallMs),
    wallMsRange: tidyRange(range(of(({ wallMs }) => wallMs))),
    boundMs: tidy(median(of(({ boundMs }) => boundMs))),
    ratioToBound: tidy(median(of(({ wallMs, boundMs }) => wallMs / boundMs)), 4),
    savedMs: tidy(median(saved)),
    savedMsRange: tidyRange(range(saved)),
    possibleSavingMs: tidy(possibleMs),
    ...check,
    holds: {
      prediction: mayGain && check.predictionError !== null ? check.predictionError <= PREDICTION_WITHIN : null,
      overhead: check.overhead === null || unpaced ? null : check.overhead <= OVERHEAD_WITHIN,
    },
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

/** What `result.savings` predicts, held against runs of the same rounds without eager tools. */
function checkOf(
  group: readonly Made[],
  baseline: readonly Made[],
): Pick<Entry, 'predictedSavedMs' | 'predictionError' | 'overhead'> {
  const parallel = wallByRound(baseline)
  const rounds = group.flatMap(({ round, sample }) => {
    const wall = parallel.get(round)
    return sample?.predicted && wall !== undefined
      ? [{ ...sample.predicted, early: sample.early, wall, measured: wall - sample.wallMs }]
      : []
  })
  const off = rounds.flatMap(({ savedMs, measured, stepsMs }) => (stepsMs > 0 ? [(savedMs - measured) / stepsMs] : []))
  const error = median(off)
  const isWaiting = rounds.length > 0 && rounds.every(({ early }) => early === 0)
  return {
    predictedSavedMs: tidy(median(samplesOf(group).flatMap(({ predicted }) => predicted?.savedMs ?? []))),
    predictionError: tidy(error === undefined ? undefined : Math.abs(error), 4),
    overhead: isWaiting ? tidy(median(rounds.map(({ wall, measured }) => -measured / wall)), 4) : null,
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

/** How far a prediction may be off, in shares of the steps' time, and what eager tools may cost where they do nothing, in shares of the wall-clock. */
const PREDICTION_WITHIN = 0.05
const OVERHEAD_WITHIN = 0.03

/** What the figures of the JSON mean: for who reads it without the report. */
export const UNITS = {
  wallMs: 'milliseconds from the call of agent.run to its result; median',
  boundMs: 'the shortest that run could have been, by what its server really sent; median',
  ratioToBound: 'wallMs over boundMs of each run; median',
  savedMs: 'milliseconds less than parallel tools in the same round, negative if more; median of the differences',
  predictedSavedMs: 'what the eager runs say themselves that they have saved (result.savings); median',
  predictionError:
    'predictedSavedMs less savedMs of the same round, over the time of the steps with calls; median, without its sign',
  overhead:
    'what eager tools add to the wall-clock where nothing started early, over that of the parallel run of the same round; median',
  holds:
    'prediction: off by 5 % at the most; overhead: 3 % at the most; null where there is nothing to save, something started early, or the model speaks as fast as it can',
  dispatchLagMs: 'milliseconds from the last argument byte of a call written by the server to its tool entered',
  faults:
    'executions that the run without eager tools would not have, or would have; `early`: all begun while the model was speaking',
} as const
