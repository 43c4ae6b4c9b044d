import { expect, test } from 'vitest'
import { measureThreads, type ThreadCost } from './measure-threads.ts'
import { threadBars, threadsTable } from './table.ts'

test('a run and a turn are measured alternately, each with its own writes', async () => {
  let made = 0
  const cost = await measureThreads({
    runs: 1,
    unpacedRuns: 1,
    transport: 'msw',
    signal: new AbortController().signal,
    onRun: () => made++,
  })
  expect(made).toBe(14)
  expect(cost).toMatchObject({ runs: 1, wallMs: { run: [expect.any(Number)], turn: [expect.any(Number)] } })
  // How long scenario b takes at its pace.
  for (const [wall = 0] of Object.values(cost.wallMs)) expect(wall).toBeGreaterThan(1_500)
  // The bench judges them: how many saves and events share a write depends on the speed of the machine.
  expect(cost.synced.run).toBeGreaterThan(1)
  expect(cost.synced.turn).toBeGreaterThan(1)
  expect(cost.cpuMs.run).toBeGreaterThan(0)
})

const COST: ThreadCost = {
  runs: 7,
  wallMs: { run: [100, 101, 99, 100, 100, 100, 300], turn: [105, 104, 103, 104, 104, 500, 104] },
  cpuMs: { run: 4.25, turn: 5.5 },
  synced: { run: 3, turn: 5 },
}

const metBy = (cost: ThreadCost) => threadBars(cost).map(({ worst, met }) => [Number(worst.toFixed(3)), met])

test('the median of the turns may be 1.05 × that of the runs, and a turn may wait for three more writes', () => {
  expect(metBy(COST)).toEqual([
    [1.04, true],
    [2, true],
  ])
  const worse = { ...COST, wallMs: { ...COST.wallMs, turn: COST.wallMs.turn.map((wall) => wall + 2) } }
  expect(metBy({ ...worse, synced: { run: 3, turn: 7 } })).toEqual([
    [1.06, false],
    [4, false],
  ])
})

test('with few runs the wall time is not judged, and the table states this', () => {
  const few = { ...COST, runs: 2 }
  expect(metBy(few)).toEqual([[2, true]])
  expect(threadsTable(few)).toContain('judged from 7 runs on')
  const table = threadsTable(COST)
  expect(table).not.toContain('judged from')
  expect(table).toMatch(/a run with sqliteStore +100 +99 … 300 +4\.25 +3\n/)
  expect(table).toMatch(/a turn with sqliteThreads +104 +103 … 500 +5\.50 +5\n/)
})
