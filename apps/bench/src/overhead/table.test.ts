import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { missed, overheadTable, type Spread } from './table.ts'

const spread = (median: number): Spread => ({ median, low: median / 2, high: median * 2 })

const figures = {
  runsPerSecond: 1_000,
  atOnce: 0.8,
  bareAtOnce: 0.5,
  heldKiB: 40,
  growthMb: 5,
  bundleKb: 25,
  agentKb: 25,
  importMs: 40,
  importOfAi: 0.52,
  spansPerRun: 39,
  without: spread(1_234.5),
  spanUs: spread(8),
  sdkSpanUs: spread(4),
  untracedSpanUs: spread(1),
  deltaUs: spread(0.5),
  untracedDeltaUs: spread(0.05),
}

test('a figure that is at its bar meets it', () => {
  expect(missed(figures)).toEqual([])
})

test('rates must reach their bars, costs must not pass them, medians count', () => {
  expect(missed({ ...figures, runsPerSecond: 999, growthMb: -3 })).toEqual(['runs one after another'])
  expect(missed({ ...figures, runsPerSecond: 9_000, heldKiB: 41, importMs: 40.1 })).toEqual([
    'heap per run, 10,000 held open',
    'import of core',
  ])
  expect(missed({ ...figures, atOnce: Number.NaN, spanUs: spread(8.1), untracedSpanUs: spread(0.9) })).toEqual([
    '1,000 at once, as part of that rate',
    'per span, batch processor',
  ])
})

test('the table has a line for each figure, with its bar, whether that is met, and the spread if it has one', () => {
  const changed = { ...figures, runsPerSecond: 2_345.6, bundleKb: 31.5, deltaUs: spread(0.25) }
  const lines = stripVTControlCharacters(overheadTable(changed)).split('\n')
  expect(lines[3]).toBe('   runs one after another               2,346 /s  ≥ 1,000  ✓')
  expect(lines[5]).toBe('     the same of 50 bare yields          0.50')
  expect(lines[8]).toBe('   core, bundled, minified, gzipped        32 kB  ≤ 25     ✗')
  expect(lines.slice(14)).toEqual([
    'Overhead of spans, in CPU time',
    '   a run of 39 spans: 1,235 (617 to 2,469) µs without an SDK; medians, and where half of the rounds are',
    '   per span, no SDK                      1.00 µs  ≤ 1.00   ✓  0.50 to 2.00',
    '   per delta and layer, no SDK           0.05 µs  ≤ 0.05   ✓  0.03 to 0.10',
    '   per span, batch processor             8.00 µs  ≤ 8.00   ✓  4.00 to 16',
    '     of that the SDK by itself           4.00 µs              2.00 to 8.00',
    '   per delta and layer, with an SDK      0.25 µs  ≤ 0.50   ✓  0.13 to 0.50',
    '',
    '   ✓ within the limit, ✗ not; a busy machine misses more of them',
    '',
  ])
})
