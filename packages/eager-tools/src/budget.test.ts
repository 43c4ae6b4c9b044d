import { ConfigError, createAgent, type Model, RunAbortedError } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Moment, tellingModel } from '../test/telling-model.ts'
import { workshop } from '../test/workshop.ts'
import { Budget } from './budget.ts'
import { type EagerToolsOptions, eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

/** A call of `look` that runs for `ms`, in a response that takes so long and whose end forbids the call or not. */
const response = (ms: number, streamMs: number, end: 'length' | 'tool-calls'): Moment[] => [
  [0, (to) => to.call(0, { name: 'look', delta: JSON.stringify({ n: 1, ms }) })],
  [0, (to) => to.seal(0)],
  [streamMs, (to) => to.finish(end)],
]
const wasted = (ms: number) => response(10_000, ms, 'length')
const saved = (ms: number) => response(ms, ms, 'tool-calls')
const done: Moment[] = [[0, (to) => to.finish('stop')]]

async function run(model: Model, middleware = [eagerTools({ budget: true })]) {
  exporter.reset()
  const { tools } = workshop()
  const agent = createAgent({ model, tools, middleware, telemetry: { tracerProvider } })
  await played(agent.run('Go'))
  return exporter
    .getFinishedSpans()
    .filter(({ name }) => name === 'execute_tool look')
    .map(({ attributes }) => ['mode', 'deferral_reason'].map((name) => attributes[`meanwhile.dispatch.${name}`]))
    .map((told) => told.filter((value) => typeof value === 'string').join(' '))
}

test('a tool that has wasted more than it has saved does not start early, and its span states the reason (H36, H28)', async () => {
  const model = tellingModel([wasted(1_200), saved(100), done])
  expect(await run(model)).toEqual(['early', 'after_model budget'])
})

test('without a budget, and within its tolerance, it starts early (H36)', async () => {
  const responses = [wasted(1_200), saved(100), done]
  expect(await run(tellingModel(responses), [eagerTools()])).toEqual(['early', 'early'])
  const budget = { toleranceMs: 1_200 }
  expect(await run(tellingModel(responses), [eagerTools({ budget })])).toEqual(['early', 'early'])
})

test('what a tool saves makes up for what it wastes (H36)', async () => {
  const budget = { toleranceMs: 0, halfLifeMs: 1e9 }
  const middleware = [eagerTools({ budget })]
  expect(await run(tellingModel([saved(500), wasted(400), saved(100), done]), middleware)).toEqual([
    'early',
    'early',
    'early',
  ])
  expect(await run(tellingModel([wasted(400), saved(100), done]), middleware)).toEqual(['early', 'after_model budget'])
})

test('the counts are shared by all runs and decay, so a tool starts early again later (H36)', async () => {
  const middleware = [eagerTools({ budget: { toleranceMs: 500, halfLifeMs: 60_000 } })]
  expect(await run(tellingModel([wasted(1_000), done]), middleware)).toEqual(['early'])
  expect(await run(tellingModel([saved(100), done]), middleware)).toEqual(['after_model budget'])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await run(tellingModel([saved(100), done]), middleware)).toEqual(['early'])
})

test('a call that continues after it was discarded counts when it has settled, with its whole time (H36)', async () => {
  const told = (name: string, input: object, ms: number, end: 'length' | 'tool-calls'): Moment[] => [
    [0, (to) => to.call(0, { name, delta: JSON.stringify(input) })],
    [0, (to) => to.seal(0)],
    [ms, (to) => to.finish(end)],
  ]
  const deaf = told('look', { n: 1, ms: 10_000, deaf: true }, 100, 'length')
  const other = (ms: number) => told('put', { n: 2, ms }, ms, 'tool-calls')
  // It is waited for until its grace time of 1,000 ms is over, and a second of waste is tolerated.
  expect(await run(tellingModel([deaf, other(500), saved(100), done]))).toEqual(['early', 'early'])
  expect(await run(tellingModel([deaf, other(1_500), saved(100), done]))).toEqual(['early', 'after_model budget'])
})

test('calls that their user aborts do not count (H36)', async () => {
  const middleware = [eagerTools({ budget: { toleranceMs: 0 } })]
  const { tools } = workshop()
  const model = tellingModel([wasted(5_000), saved(100), done])
  const controller = new AbortController()
  const work = createAgent({ model, tools, middleware }).run('Go', { signal: controller.signal })
  work.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(2_000)
  controller.abort()
  await expect(played(work)).rejects.toThrow(RunAbortedError)
  expect(await run(model, middleware)).toEqual(['early'])
})

const refused: readonly (readonly [option: string, options: unknown])[] = [
  ['polcy', { polcy: () => 'wait' }],
  ['options', 'start'],
  ['options', null],
  ['policy', { policy: 'start' }],
  ['independent', { independent: 'send_mail' }],
  ['independent', { independent: [7] }],
  ['budget', { budget: 5 }],
  ['budget.halfLife', { budget: { halfLife: 60_000 } }],
]

test.for(refused)('an invalid %s is refused with a ConfigError that names it (A2)', ([option, options]) => {
  expect(() => eagerTools(options as EagerToolsOptions)).toThrow(
    expect.objectContaining({ name: 'ConfigError', option }),
  )
})

test('options out of range, and a policy that is not a function, are reported (A2, H36)', () => {
  expect(() => eagerTools({ policy: 5 as never })).toThrow(new ConfigError('policy', 'must be a function'))
  for (const toleranceMs of [-1, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => eagerTools({ budget: { toleranceMs } })).toThrow(ConfigError)
  for (const halfLifeMs of [0, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => eagerTools({ budget: { halfLifeMs } })).toThrow(ConfigError)
})

test('with more than 1,000 tools the least recently updated one is forgotten (H36)', () => {
  const budget = new Budget({ toleranceMs: 0 })
  for (let tool = 0; tool < 1_000; tool++) budget.add(`t${tool}`, -1)
  budget.add('t0', -1)
  budget.add('another', -1)
  expect(['t0', 't1', 't2', 'another'].map((tool) => budget.isSpent(tool))).toEqual([true, false, true, true])
})
