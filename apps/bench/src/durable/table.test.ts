import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { environment } from '../environment.ts'
import { durableTable } from './table.ts'

test('the table has a row for each set-up, with a dash for a figure that it does not have, and the sync of the disk below', () => {
  const cost = {
    version: '15.18',
    syncMs: [4, 5, 9],
    setUps: [
      { name: 'none', cpuMs: [1, 3, 2], wallMs: [2.5], unsyncedWallMs: [], saves: 0, commits: 0 },
      { name: 'pg-boss', cpuMs: [11.4, 12, 13], wallMs: [40, 60], unsyncedWallMs: [20], saves: 6, commits: 13.04 },
      { name: 'pg-boss-events', cpuMs: [14], wallMs: [50], unsyncedWallMs: [30], saves: 6, commits: 15.26 },
    ],
  } as const
  const lines = stripVTControlCharacters(durableTable(cost, environment())).split('\n')
  const cells = lines.map((line) => line.trim().split(/ {2,}/))
  expect(cells.slice(3, 8)).toEqual([
    ['CPU, ms', 'min … max', 'one at a time, ms', 'synchronous_commit off', 'saves', 'commits'],
    ['no store', '2.00', '1.00 … 3.00', '2.50', '–', '–', '–'],
    ['durable run on pg-boss', '12', '11 … 13', '50', '20', '6', '13'],
    ['durable run on pg-boss, event log', '14', '14 … 14', '50', '30', '6', '15.3'],
    [''],
  ])
  expect(lines[8]).toBe("   The disk's own sync: 5.00 ms (95 % of them at most 9.00 ms)")
  expect(lines.join('\n')).toContain('PostgreSQL 15.18. Machine: ')
})
