import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import type { Against } from './against.ts'
import { comparisonOf } from './comparison.ts'
import { againstTable, missedAgainst } from './table.ts'

const result: Against = {
  older: { folder: '/older/packages/core', version: '0.0.7', index: '/older/packages/core/dist/index.js' },
  comparisons: [
    { title: 'a run', ...comparisonOf([[{ older: 40_000, again: 41_200, present: 24_000 }]]) },
    { title: '1,000 steps', ...comparisonOf([[{ older: 90_000, again: 90_000, present: 99_000 }]]) },
  ],
}

test('first the older core is set against itself, then the present one against it, with the limit of each', () => {
  expect(stripVTControlCharacters(againstTable(result)).split('\n').slice(1, 11)).toEqual([
    'CPU time of core, compared with an older core',
    '   the older one: 0.0.7 in /older/packages/core',
    '',
    'The older core against itself',
    '   a run                               1.030  1.030 to 1.030   spread 0.030',
    '   1,000 steps                         1.000  1.000 to 1.000   spread 0.000',
    '',
    'The present core against the older one',
    '   a run                               0.600  0.600 to 0.600   ≤ 1.080 ✓   40 → 24 ms',
    '   1,000 steps                         1.100  1.100 to 1.100   ≤ 1.050 ✗   90 → 99 ms',
  ])
})

test('what takes more than it may is missed', () => {
  expect(missedAgainst(result)).toEqual(['1,000 steps'])
})
