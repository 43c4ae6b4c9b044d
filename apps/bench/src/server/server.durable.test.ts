import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnBench } from '../../test/bench-process.ts'
import { environment } from '../environment.ts'
import { measureServer, partsOf } from './measure-server.ts'
import { printedCosts, serverCostsPage } from './page.ts'
import { SHORT_PLAN } from './plan.ts'
import { SETUP_NAMES } from './setups.ts'
import { tablesOf } from './tables.ts'

test('each server has its turns, threads, readers and runs, with the statements of its store', async () => {
  const parts: string[] = []
  const { signal } = new AbortController()
  const cost = await measureServer({ plan: SHORT_PLAN, signal, onPart: (title) => parts.push(title) })
  expect(new Set(parts).size).toBe(partsOf(SHORT_PLAN))
  expect(parts).toHaveLength(partsOf(SHORT_PLAN))
  expect(cost.loads.map(({ name, turns }) => [name, turns])).toEqual(SETUP_NAMES.map((name) => [name, 2]))
  for (const { name, statements, bytes, cpuMs, lateMs, wallMs } of cost.loads) {
    expect([name, cpuMs > 0, lateMs >= 0, wallMs > 0]).toEqual([name, true, true, true])
    const isStored = name !== 'memory' && name !== 'ai'
    expect([name, statements > 0, bytes > 0]).toEqual([name, isStored, isStored])
  }
  const rows = cost.loads.find(({ name }) => name === 'ai-postgres')
  expect(rows?.statements).toBe(3)
  expect(cost.lengths).toHaveLength(4 * SHORT_PLAN.lengths.length)
  expect(cost.readers.map(({ name, isElsewhere }) => [name, isElsewhere])).toEqual([
    ['memory', false],
    ['sqlite', false],
    ['sqlite', true],
    ['postgres', false],
    ['postgres', true],
  ])
  expect(cost.readers.every(({ reads }) => reads > 0)).toBe(true)
  const [job, runs] = cost.durable
  expect([job?.kind, runs?.kind]).toEqual(['job', 'runs'])
  expect(job?.statements).toBeGreaterThanOrEqual(3)
  expect(runs?.statements).toBeGreaterThan(job?.statements ?? Number.NaN)

  const figures = { ...cost, measured: [{ plan: SHORT_PLAN, machine: environment() }] }
  const page = serverCostsPage(figures)
  const printed = printedCosts(figures)
  for (const { title, heads, rows } of tablesOf(cost)) {
    expect(page).toContain(`## ${title}\n`)
    expect(printed).toContain(title)
    expect(rows.map((row) => row.length)).toEqual(rows.map(() => heads.length))
  }
})

test('Ctrl-C ends the measurement of servers, and removes what it has made', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // Its server may run as another user.
  await chmod(folder, 0o755)
  await using bench = await spawnBench(['server', '--short'], { ...process.env, TMPDIR: folder })
  const made = async () => (await readdir(folder)).filter((name) => name.startsWith('meanwhile-'))
  await expect.poll(made, { timeout: 60_000 }).toHaveLength(2)
  bench.child.kill('SIGINT')
  expect(await bench.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('nothing was written') })
  expect(await made()).toEqual([])
})
