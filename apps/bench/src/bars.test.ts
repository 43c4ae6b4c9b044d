import { expect, test } from 'vitest'
import { barsOf, barText, worstOf } from './bars.ts'
import type { Entry } from './cell.ts'
import { cellsOf } from './cells.ts'
import { SCENARIOS } from './scenarios.ts'

function entry(over: Partial<Entry>): Entry {
  const subject = {
    scenario: SCENARIOS.f,
    wire: 'anthropic',
    mode: 'eager',
    round: 0,
    repeated: 0,
    failure: 'none',
  } as const
  const [cell] = cellsOf([subject])
  if (!cell) throw new Error('no entry')
  return { ...cell.entry, ...over }
}

test('each bar is judged by the scenario and wire with the worst value', () => {
  const bars = barsOf([
    entry({
      scenario: 'f',
      ratioToBound: 1.003,
      startedEarly: 6,
      dispatchLagMs: { first: 0.3, p50: 0.4, p99: 4, max: 9 },
    }),
    entry({
      scenario: 'b',
      wire: 'openai-chat',
      ratioToBound: 1.006,
      startedEarly: 1,
      dispatchLagMs: { first: 0, p50: 0.2, p99: 1, max: 1 },
    }),
    entry({ scenario: 'd200', timing: 'at-once', ratioToBound: 2, cpuUserMs: 300 }),
    entry({ scenario: 'd200', timing: 'at-once', mode: 'floor', cpuUserMs: 200 }),
  ])
  expect(bars.map(barText)).toEqual([
    '✗ eager at most 1.005 × the bound: at worst 1.006 in b openai-chat',
    '✓ dispatch lag p50 at most 0.5 ms: at worst 0.400 in f anthropic',
    '✓ dispatch lag p99 at most 5 ms: at worst 4.000 in f anthropic',
    '✓ CPU at most 2 × the bare loop’s: at worst 1.500 in d200 anthropic',
  ])
})

test('a bar that is narrowly missed is shown with enough digits to see it', () => {
  const textOf = (ratioToBound: number) => barsOf([entry({ scenario: 'f', ratioToBound })]).map(barText)
  expect(textOf(1.00502)).toEqual(['✗ eager at most 1.005 × the bound: at worst 1.00502 in f anthropic'])
  expect(textOf(1.00498)).toEqual(['✓ eager at most 1.005 × the bound: at worst 1.005 in f anthropic'])
})

test('if values must reach a minimum, the smallest one counts, also when it narrowly misses', () => {
  const textOf = (...values: readonly number[]) =>
    worstOf(
      { title: 'at least 0.9 won back', limit: 0.9, atLeast: true },
      values.map((value) => ({ value, where: 'f' })),
    ).map(barText)
  expect(textOf(0.95, 0.91)).toEqual(['✓ at least 0.9 won back: at worst 0.910 in f'])
  expect(textOf(0.95, 0.89996)).toEqual(['✗ at least 0.9 won back: at worst 0.89996 in f'])
  expect(textOf()).toEqual([])
})

test('the lag of a call that may not start early is not judged, because it must wait', () => {
  const late = { first: 1_200, p50: 1_200, p99: 1_200, max: 1_200 }
  expect(barsOf([entry({ scenario: 'g', startedEarly: 0, dispatchLagMs: late })])).toEqual([])
})

test('a value that was not measured has no bar, neither met nor missed', () => {
  expect(barsOf([entry({ mode: 'parallel', ratioToBound: 1.5 })])).toEqual([])
})
