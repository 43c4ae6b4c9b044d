import { expect, test } from 'vitest'
import { expectedMs } from './expected.ts'
import { DEFAULT_RUNS, planOf, runsOf } from './run-plan.ts'
import { DEFAULT_SCENARIOS, SCENARIOS } from './scenarios.ts'

const wires = ['openai-chat', 'openai-responses', 'anthropic'] as const
const modes = ['sequential', 'parallel', 'eager'] as const

test('every mode of every wire runs as often as requested, and no mode or wire always runs first', () => {
  const plan = planOf({ scenarios: [SCENARIOS.f], wires, ways: modes, runs: runsOf(3) })
  const subjects = plan.map(({ wire, mode, round }) => `${wire} ${mode} ${round}`)
  expect(new Set(subjects).size).toBe(27)
  const firsts = plan.filter((_, index) => index % 9 === 0)
  expect(new Set(firsts.map(({ wire }) => wire)).size).toBe(3)
  expect(new Set(firsts.map(({ mode }) => mode)).size).toBe(3)
})

test('a mode with fewer runs takes part in the first rounds', () => {
  const plan = planOf({ scenarios: [SCENARIOS.a], wires: ['anthropic'], ways: modes, runs: DEFAULT_RUNS })
  expect(plan.filter(({ mode }) => mode === 'sequential').map(({ round }) => round)).toEqual([0])
  expect(plan.filter(({ mode }) => mode === 'eager').map(({ round }) => round)).toEqual([0, 1, 2])
})

test('the expected time of a run is its theoretical time', () => {
  const times = modes.map((mode) => expectedMs({ scenario: SCENARIOS.f, mode }))
  expect(times).toEqual([1_660 + 1_250 + 200, 1_660 + 1_000 + 200, 1_660 + 50 + 200])
})

test('the default plan, two runs at a time, fits well within two minutes', () => {
  const plan = planOf({
    scenarios: DEFAULT_SCENARIOS.map((id) => SCENARIOS[id]),
    wires,
    ways: modes,
    runs: DEFAULT_RUNS,
  })
  const total = plan.reduce((sum, job) => sum + expectedMs(job), 0)
  expect(total / 2).toBeLessThan(105_000)
})

test('other libraries run as often as the baseline, and a recording runs only on its own wire', () => {
  const recorded = { ...SCENARIOS.a, id: 'mine', timing: 'recorded', wires: ['anthropic'] } as const
  const can = (way: string, wire: string) => way !== '@openai/agents' || wire !== 'anthropic'
  const scenarios = [SCENARIOS.a, recorded]
  const plan = planOf({ scenarios, wires, ways: ['parallel', 'ai', '@openai/agents'], runs: DEFAULT_RUNS, can })
  const subjects = (round: number) =>
    plan.flatMap((job) => (job.round === round ? [`${job.scenario.id} ${job.wire} ${job.mode}`] : [])).toSorted()
  expect(subjects(0)).toEqual([
    'a anthropic ai',
    'a anthropic parallel',
    'a openai-chat @openai/agents',
    'a openai-chat ai',
    'a openai-chat parallel',
    'a openai-responses @openai/agents',
    'a openai-responses ai',
    'a openai-responses parallel',
    'mine anthropic ai',
    'mine anthropic parallel',
  ])
  expect(subjects(2)).toEqual(subjects(0))
})
