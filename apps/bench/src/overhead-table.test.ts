import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { missed, overheadTable } from './overhead-table.ts'

const figures = {
  runsPerSecond: 1_000,
  atOnce: 0.8,
  heldKiB: 40,
  growthMb: 5,
  bundleKb: 25,
  agentKb: 25,
  importMs: 40,
  importOfAi: 0.52,
}

test('a figure that is at its bar meets it', () => {
  expect(missed(figures)).toEqual([])
})

test('rates must reach their bars, costs must not pass them', () => {
  expect(missed({ ...figures, runsPerSecond: 999, growthMb: -3 })).toEqual(['runs one after another'])
  expect(missed({ ...figures, runsPerSecond: 9_000, heldKiB: 41, importMs: 40.1 })).toEqual([
    'heap per run, 10,000 held open',
    'import of core',
  ])
  expect(missed({ ...figures, atOnce: Number.NaN })).toEqual(['1,000 runs at once, of that'])
})

test('the table has a line for each figure, with its bar and whether that is met', () => {
  const lines = stripVTControlCharacters(overheadTable({ ...figures, runsPerSecond: 2_345.6, bundleKb: 31.5 })).split(
    '\n',
  )
  expect(lines[3]).toBe('   runs one after another               2,346 /s  ≥ 1,000  ✓')
  expect(lines[7]).toBe('   core, bundled, minified, gzipped        32 KB  ≤ 25     ✗')
  expect(lines).toHaveLength(12)
})
