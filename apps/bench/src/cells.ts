/** Computes the figures of the runs: medians of the runs that count. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { Cell, Entry } from './cell.ts'
import { baselineOf, WAYS, type Way } from './modes.ts'
import { NOISE } from './report/noise.ts'
import { isLate, type Made } from './runner.ts'
import type { Sample } from './sample.ts'
import type { Scenario } from './scenario.ts'
import { ALL_SCENARIOS } from './scenarios.ts'
import { median, pairedDifferences, percentile, range } from './stats.ts'

/** By scenario, wire and way, each in its own order. */
export function cellsOf(made: readonly Made[]): readonly Cell[] {
  return scenariosOf(made).flatMap((scenario) =>
    WIRE_NAMES.flatMap((wire) => WAYS.flatMap((way) => cellOf(scenario, wire, way, made))),
  )
}

/** Our own scenarios first, in their order; then those of users, in order of appearance. */
function scenariosOf(made: readonly Made[]): readonly Scenario[] {
  const ours: readonly string[] = ALL_SCENARIOS
  const rank = ({ id }: Scenario): number => (ours.includes(id) ? ours.indexOf(id) : ours.length)
  const byId = new Map(made.map(({ scenario }) => [scenario.id, scenario]))
  return [...byId.values()].toSorted((a, b) => rank(a) - rank(b))
}

function cellOf(scenario: Scenario, wire: WireName, mode: Way, made: readonly Made[]): readonly Cell[] {
  const here = made.filter((run) => run.scenario.id === scenario.id && run.wire === wire)
  const group = here.filter((run) => run.mode === mode)
  if (group.length === 0) return []
  const figures = figuresOf(
    group,
    here.filter((run) => run.mode === baselineOf(mode)),
  )
  const typical = typicalOf(group, figures.wallMs)
  const { id, title, shape, timing } = scenario
  const entry = { scenario: id, title, shape, timing, wire, mode, ...figures }
  const { timeline, ledger } = typical ?? {}
  return [{ entry, ...(timeline && { typical: timeline }), ...(ledger && { ledger }) }]
}

type Figures = Omit<Entry, 'scenario' | 'title' | 'shape' | 'timing' | 'wire' | 'mode'>

function figuresOf(all: readonly Made[], baselines: readonly Made[]): Figures {
  const [group, baseline] = [inTime(all), inTime(baselines)]
  const samples = samplesOf(group)
  const of = (value: (sample: Sample) => number | undefined): number[] =>
    samples.map(value).filter((number) => number !== undefined)
  const saved = pairedDifferences(wallByRound(group), wallByRound(baseline))
  const wallMs = median(of(({ wallMs }) => wallMs))
  const possibleMs = median(of(({ possibleMs }) => possibleMs))
  const check = checkOf(group, baseline)
  const mayGain = possibleMs !== undefined && wallMs !== undefined && possibleMs >= NOISE * wallMs
  const atOnce = all.some(({ scenario }) => scenario.timing === 'at-once')
  return {
    runs: samples.length,
    wallMs: tidy(wallMs),
    wallMsRange: tidyRange(range(of(({ wallMs }) => wallMs))),
    boundMs: tidy(median(of(({ boundMs }) => boundMs))),
    ratioToBound: tidy(median(of(({ wallMs, boundMs }) => (boundMs === undefined ? undefined : wallMs / boundMs))), 4),
    savedMs: tidy(median(saved)),
    savedMsRange: tidyRange(range(saved)),
    possibleSavingMs: tidy(possibleMs),
    ...check,
    holds: {
      prediction: mayGain && check.predictionError !== null ? check.predictionError <= PREDICTION_WITHIN : null,
      overhead: check.overhead === null || atOnce ? null : check.overhead <= OVERHEAD_WITHIN,
    },
    dispatchLagMs: lagOf(samples),
    turnaroundMs: tidy(median(of(({ turnaroundMs }) => turnaroundMs))),
    startedEarly: median(of(({ early }) => early)) ?? null,
    cpuUserMs: atOnce ? tidy(median(of(({ cpuUserMs }) => cpuUserMs))) : null,
    latestWriteMs: tidy(range(of(({ latenessMs }) => latenessMs))?.[1]),
    late: {
      repeated: all.reduce((sum, { repeated }) => sum + repeated, 0),
      dropped: all.length - group.length,
      kept: group.filter(isLate).length,
    },
    failed: all.flatMap(({ failure }) => failure ?? []),
  }
}

/** Without the runs whose server was late, unless all were late. */
function inTime(group: readonly Made[]): readonly Made[] {
  const late = group.filter(isLate).length
  const some = group.some((made) => made.sample && !isLate(made))
  return late > 0 && some ? group.filter((made) => !isLate(made)) : group
}

/** Compares what `result.savings` predicts with runs of the same rounds without eager tools. */
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
  // A real model answers differently each time: the length of its answers is not an error of the prediction.
  const alike = group.every(({ scenario }) => scenario.timing !== 'live')
  return {
    predictedSavedMs: tidy(median(samplesOf(group).flatMap(({ predicted }) => predicted?.savedMs ?? []))),
    predictionError: tidy(error === undefined || !alike ? undefined : Math.abs(error), 4),
    overhead: isWaiting && alike ? tidy(median(rounds.map(({ wall, measured }) => -measured / wall)), 4) : null,
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

/** Microseconds are precise enough, and easier to read. */
function tidy(value: number | undefined, digits = 3): number | null {
  return value === undefined ? null : Number(value.toFixed(digits))
}

function tidyRange(value: readonly [number, number] | undefined): readonly [number, number] | null {
  return value ? [Number(value[0].toFixed(3)), Number(value[1].toFixed(3))] : null
}

/**
 * The largest error of a prediction, as a share of the steps' time, and the largest cost of eager tools that save nothing, as a share of the
 * wall-clock.
 */
const PREDICTION_WITHIN = 0.05
const OVERHEAD_WITHIN = 0.03
