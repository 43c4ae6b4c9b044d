import { expect, test } from 'vitest'
import { cellsOf } from './cells.ts'
import { checkText } from './comparison.ts'
import type { Mode, Way } from './modes.ts'
import type { Made } from './runner.ts'
import type { Sample } from './sample.ts'
import { SCENARIOS } from './scenarios.ts'

test('an entry has the medians of its runs, and savings are computed within a round', () => {
  const entries = entriesOf([
    made('parallel', 0, sample({ wallMs: 2_860 })),
    made('eager', 0, sample({ wallMs: 1_910, lagMs: [0.4, 0.6] })),
    made('eager', 1, sample({ wallMs: 2_100, lagMs: [0.5, 3] })),
    made('parallel', 1, sample({ wallMs: 3_060 })),
    made('eager', 2, sample({ wallMs: 1_900, lagMs: [0.3, 0.2] })),
    made('parallel', 2, sample({ wallMs: 2_870 })),
    made('sequential', 0, sample({ wallMs: 3_110 })),
  ])
  expect(entries.map(({ mode, runs, wallMs, savedMs }) => ({ mode, runs, wallMs, savedMs }))).toEqual([
    { mode: 'sequential', runs: 1, wallMs: 3_110, savedMs: -250 },
    { mode: 'parallel', runs: 3, wallMs: 2_870, savedMs: 0 },
    { mode: 'eager', runs: 3, wallMs: 1_910, savedMs: 960 },
  ])
  expect(entries[2]).toMatchObject({
    wallMsRange: [1_900, 2_100],
    savedMsRange: [950, 970],
    dispatchLagMs: { first: 0.4, p50: 0.45, p99: 3, max: 3 },
    ratioToBound: 1,
  })
})

test('the prediction of an eager run is compared with the measurement of the same round', () => {
  const predicted = (savedMs: number) => ({ savedMs, stepsMs: 1_700 })
  const [parallel, eager] = entriesOf([
    made('parallel', 0, sample({ wallMs: 2_860 })),
    made('eager', 0, sample({ wallMs: 1_910, predicted: predicted(967) })),
    made('parallel', 1, sample({ wallMs: 2_900 })),
    made('eager', 1, sample({ wallMs: 1_920, predicted: predicted(963) })),
    made('eager', 2, sample({ wallMs: 1_920, predicted: predicted(900) })),
  ])
  expect(parallel).toMatchObject({ predictedSavedMs: null, predictionError: null, overhead: null })
  expect(eager).toMatchObject({
    savedMs: 965,
    predictedSavedMs: 963,
    predictionError: 0,
    overhead: null,
    holds: { prediction: true, overhead: null },
  })
  const off = entriesOf([
    made('parallel', 0, sample({ wallMs: 2_860 })),
    made('eager', 0, sample({ wallMs: 1_910, predicted: predicted(864) })),
  ])
  expect(off[1]).toMatchObject({ predictionError: 0.0506, holds: { prediction: false } })
  expect(checkText(off[1])).toBe('5.1 % ✗')
})

test('if nothing starts early, the overhead counts', () => {
  const nothing = { predicted: { savedMs: 0, stepsMs: 0 }, early: 0, possibleMs: 0 }
  const overheadOf = (wallMs: number) =>
    entriesOf([made('parallel', 0, sample({ wallMs: 1_000 })), made('eager', 0, sample({ wallMs, ...nothing }))])[1]
  expect(overheadOf(1_030)).toMatchObject({ overhead: 0.03, holds: { prediction: null, overhead: true } })
  expect(overheadOf(1_031)).toMatchObject({ overhead: 0.031, holds: { prediction: null, overhead: false } })
  expect(checkText(overheadOf(990))).toBe('-1.0 % ✓')
  expect(checkText(undefined)).toBe('–')
})

test('a loop with its drop-in is compared with the same loop without it', () => {
  const at = (mode: Way, wallMs: number) => ({ ...made('eager', 0, sample({ wallMs })), mode })
  const entries = entriesOf([
    at('parallel', 2_000),
    at('streamText', 2_900),
    at('streamText, eager', 1_950),
    at('ToolLoopAgent', 2_910),
    at('ToolLoopAgent, eager', 1_970),
  ])
  expect(entries.map(({ mode, savedMs }) => [mode, savedMs])).toEqual([
    ['parallel', 0],
    ['streamText', 0],
    ['streamText, eager', 950],
    ['ToolLoopAgent', 0],
    ['ToolLoopAgent, eager', 940],
  ])
})

test('failed runs are reported and do not count in any median', () => {
  const [entry] = entriesOf([
    made('eager', 0, sample({ wallMs: 1_910 })),
    { ...subject('eager', 1), failure: '2 executions of 1 calls', repeated: 0 },
  ])
  expect(entry).toMatchObject({ runs: 1, wallMs: 1_910, savedMs: null, failed: ['2 executions of 1 calls'] })
})

test('late runs are counted, and are excluded from medians if other runs of the entry were in time', () => {
  const [parallel, eager] = entriesOf([
    made('parallel', 0, sample({ wallMs: 2_860 })),
    made('parallel', 1, sample({ wallMs: 2_900, latenessMs: 9 })),
    { ...made('eager', 0, sample({ wallMs: 1_910 })), repeated: 2 },
    made('eager', 1, sample({ wallMs: 1_990, latenessMs: 12 })),
  ])
  expect(parallel).toMatchObject({ runs: 1, wallMs: 2_860, late: { repeated: 0, dropped: 1, kept: 0 } })
  expect(eager).toMatchObject({ runs: 1, savedMs: 950, late: { repeated: 2, dropped: 1, kept: 0 }, latestWriteMs: 1 })
})

test('late runs count if there are no others', () => {
  const late = [0, 1].map((round) => made('eager', round, sample({ wallMs: 1_990, latenessMs: 12 })))
  expect(entriesOf(late)[0]).toMatchObject({ runs: 2, late: { repeated: 0, dropped: 0, kept: 2 }, latestWriteMs: 12 })
})

test('for a real model an entry has no values that require its server’s log, and no prediction error', () => {
  const scenario = { ...SCENARIOS.f, id: 'several', timing: 'live' } as const
  const { boundMs: _, possibleMs: __, ...known } = sample({ wallMs: 1_910, lagMs: [] })
  const predicted = { savedMs: 900, stepsMs: 1_700 }
  const runs = [made('parallel', 0, known), made('eager', 0, { ...known, predicted })]
  const entry = entriesOf(runs.map((run) => ({ ...run, scenario })))[1]
  expect(entry).toMatchObject({
    scenario: 'several',
    timing: 'live',
    boundMs: null,
    ratioToBound: null,
    possibleSavingMs: null,
    dispatchLagMs: null,
    savedMs: 0,
    predictedSavedMs: 900,
    predictionError: null,
    overhead: null,
  })
})

test('the picture shows the run nearest to the median', () => {
  const [cell] = cellsOf([1_900, 2_400, 1_930].map((wallMs, round) => made('eager', round, sample({ wallMs }))))
  expect(cell?.typical?.end).toBe(1_930)
})

function entriesOf(runs: readonly Made[]): ReturnType<typeof cellsOf>[number]['entry'][] {
  return cellsOf(runs).map(({ entry }) => entry)
}

function made(mode: Mode, round: number, sample: Sample): Made {
  return { ...subject(mode, round), sample, repeated: 0 }
}

function subject(mode: Mode, round: number): Omit<Made, 'repeated'> {
  return { scenario: SCENARIOS.f, wire: 'anthropic', mode, round }
}

function sample(given: Pick<Sample, 'wallMs'> & Partial<Sample>): Sample {
  const timeline = { streams: [], calls: [], bound: given.wallMs, end: given.wallMs }
  return {
    boundMs: given.wallMs,
    possibleMs: 950,
    lagMs: [0.5],
    turnaroundMs: 2,
    early: 1,
    cpuUserMs: 20,
    latenessMs: 1,
    timeline,
    ...given,
  }
}
