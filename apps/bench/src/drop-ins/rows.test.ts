import type { WireName } from '@meanwhile/harness/server'
import { expect, test } from 'vitest'
import type { Entry } from '../cell.ts'
import { cellsOf } from '../cells.ts'
import type { Way } from '../modes.ts'
import type { Made } from '../runner.ts'
import type { Sample } from '../sample.ts'
import type { Scenario } from '../scenario.ts'
import { SCENARIOS } from '../scenarios.ts'
import { ownTimesOf, rowsIn, rowsOf } from './rows.ts'
import { OWN_TIME } from './scenarios.ts'

test('the time won back is the part beyond the bound that the eager loop does not take', () => {
  const rows = rowsOf(
    entriesOf([
      made('streamText', 2_900, { boundMs: 1_900, lagMs: [1_300, 900] }),
      made('streamText, eager', 1_950, { boundMs: 1_900, lagMs: [2, 5] }),
    ]),
  )
  expect(rows).toEqual([
    {
      scenario: 'f',
      loop: 'streamText',
      wire: 'anthropic',
      plain: { runs: 1, wallMs: 2_900, ratioToBound: 1.5263, firstToolMs: 1_300 },
      eager: { runs: 1, wallMs: 1_950, ratioToBound: 1.0263, firstToolMs: 2 },
      wonBack: 0.95,
    },
  ])
})

test('no time can be won back if none is lost, if the loop is not measured without its drop-in, and if all runs failed', () => {
  const rows = rowsOf(
    entriesOf([
      made('streamText', 1_905, { boundMs: 1_900 }),
      made('streamText, eager', 1_905, { boundMs: 1_900 }),
      made('generateText, eager', 1_950, { boundMs: 1_900 }),
      made('run, streamed', 2_900, { boundMs: 1_900, wire: 'openai-chat' }),
      { ...made('run, streamed, eager', 0, { wire: 'openai-chat' }), sample: undefined, failure: 'no' },
    ]),
  )
  expect(rows.map(({ loop, plain, eager, wonBack }) => [loop, plain?.wallMs, eager?.wallMs, wonBack])).toEqual([
    ['streamText', 1_905, 1_905, null],
    ['generateText', undefined, 1_950, null],
    ['run, streamed', 2_900, null, null],
  ])
})

test('resilient() has a row next to the loop as it is, and wins no time back', () => {
  const rows = rowsOf(
    entriesOf([
      made('streamText', 2_900, { boundMs: 1_900, lagMs: [1_300] }),
      made('streamText, resilient(), eager', 2_905, { boundMs: 1_900, lagMs: [1_305] }),
    ]),
  )
  expect(
    rows.map(({ loop, plain, eager, wonBack }) => [loop, plain?.firstToolMs, eager?.firstToolMs, wonBack]),
  ).toEqual([
    ['streamText', 1_300, undefined, null],
    ['streamText, resilient()', 1_300, 1_305, null],
  ])
})

test('a loop that takes more than 1.03 × the bound with tools of 0 ms is marked, and does not appear in any scenario', () => {
  const entries = entriesOf([
    made('streamText', 1_957, { boundMs: 1_900, scenario: OWN_TIME }),
    made('generateText, eager', 1_960, { boundMs: 1_900, scenario: OWN_TIME }),
    made('agent.stream', 2_900, { boundMs: 1_900 }),
  ])
  expect(ownTimesOf(entries)).toEqual([
    { loop: 'streamText', wire: 'anthropic', ratioToBound: 1.03, isSlow: false },
    { loop: 'generateText', wire: 'anthropic', ratioToBound: 1.0316, isSlow: true },
  ])
  expect(rowsOf(entries).map(({ scenario, loop }) => [scenario, loop])).toEqual([['f', 'agent.stream']])
  expect(rowsIn(rowsOf(entries), 'b')).toEqual([])
})

test('the scenario for the loops’ own time makes the same calls as f, with tools that take no time', () => {
  const of = ({ turns }: Scenario) => turns.flat().map(({ toolMs: _, ...call }) => call)
  expect(of(OWN_TIME)).toEqual(of(SCENARIOS.f))
  expect(OWN_TIME.turns.flat().map(({ toolMs }) => toolMs)).toEqual([0, 0, 0, 0, 0, 0])
})

interface Given extends Partial<Pick<Sample, 'boundMs' | 'lagMs'>> {
  readonly wire?: WireName
  readonly scenario?: Scenario
}

function made(mode: Way, wallMs: number, given: Given = {}): Made {
  const { wire = 'anthropic', scenario = SCENARIOS.f, boundMs = wallMs, lagMs = [0.5] } = given
  const timeline = { streams: [], calls: [], end: wallMs }
  const sample: Sample = { wallMs, boundMs, lagMs, early: 1, cpuUserMs: 20, latenessMs: 1, timeline }
  return { scenario, wire, mode, round: 0, repeated: 0, sample }
}

function entriesOf(
  runs: readonly (Omit<Made, 'sample'> & { readonly sample?: Sample | undefined })[],
): readonly Entry[] {
  return cellsOf(runs.map(({ sample, ...run }) => ({ ...run, ...(sample && { sample }) }))).map(({ entry }) => entry)
}
