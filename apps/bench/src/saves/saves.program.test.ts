import { expect, test } from 'vitest'
import { measureBlocks } from './measure-blocks.ts'
import { measureSaves, type StepCost } from './measure-saves.ts'
import { savesBars, savesTable } from './table.ts'

test('on each store a step of reads and of external calls is saved a few times, however many calls it has (W33)', async () => {
  const { signal } = new AbortController()
  const costs = await measureSaves({ signal, runs: 1, counts: [10, 200] })
  const stores = new Set(costs.map(({ store }) => store))
  expect(stores.size).toBeGreaterThanOrEqual(3)
  expect(costs).toHaveLength(4 * stores.size)
  for (const { saves, cpuMs } of costs) expect([saves > 0, saves <= 40, cpuMs > 0]).toEqual([true, true, true])
})

const cost = (calls: number, saves: number, cpuMs: number): StepCost => {
  return { store: 'memory', effect: 'read', calls, saves, cpuMs }
}

test('the longest turn of the event loop is measured without middleware and with standard() (W61)', async () => {
  const blocks = await measureBlocks(1, new AbortController().signal)
  expect(blocks.map(({ title }) => title)).toEqual(['without middleware', 'with standard()'])
  for (const { ms } of blocks) expect(ms).toBeGreaterThan(0)
  const [bar] = savesBars([], [{ title: 'with standard()', ms: 21 }])
  expect(bar).toMatchObject({ worst: 21, met: false })
}, 60_000)

test('a step may be saved 40 times, and the time may grow with the number of calls', () => {
  const met = (costs: readonly StepCost[]) => savesBars(costs).map(({ worst, met }) => [worst, met])
  expect(met([cost(10, 5, 3), cost(100, 8, 20), cost(1_000, 40, 400)])).toEqual([
    [40, true],
    [2, true],
  ])
  expect(met([cost(100, 41, 20), cost(1_000, 9, 500)])).toEqual([
    [41, false],
    [2.5, false],
  ])
})

test('the table shows what was measured', () => {
  const table = savesTable([cost(10, 5, 3), cost(1_000, 9, 1_400)])
  expect(table).toContain('memory, read')
  expect(table).toContain('9 saves, 1,400 ms')
  expect(table).toContain('PostgreSQL is not installed')
})
