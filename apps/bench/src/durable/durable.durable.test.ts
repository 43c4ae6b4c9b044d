import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnBench } from '../../test/bench-process.ts'
import { measureDurable, type SetUpCost } from './measure-durable.ts'
import { SETUP_NAMES, SETUPS, type SetUp } from './setups.ts'

test('each set-up makes runs, with the saves and commits of its store, its engine and its event log', async () => {
  const turns: string[] = []
  const plan = { rounds: 1, atOnce: 2, crowd: 4, warmUp: 0 }
  const cost = await measureDurable({
    runs: 1,
    plan,
    signal: new AbortController().signal,
    onTurn: (title) => turns.push(title),
  })
  const titles = SETUP_NAMES.map((name) => SETUPS[name].title)
  expect(turns).toEqual([...titles, ...titles])
  expect(cost.setUps.map(({ name }) => name)).toEqual(SETUP_NAMES)
  expect(cost.version).toMatch(/^\d/)
  expect(cost.syncMs.length).toBeGreaterThan(0)

  for (const { name, cpuMs, wallMs, unsyncedWallMs, saves, commits } of cost.setUps) {
    const setUp: SetUp = SETUPS[name]
    const isOnPostgres = setUp.store === 'postgres'
    expect([name, cpuMs.length, wallMs.length, unsyncedWallMs.length]).toEqual([name, 1, 1, isOnPostgres ? 1 : 0])
    expect([name, saves > 0, commits > 0]).toEqual([name, setUp.store !== undefined, isOnPostgres])
    // Each save is a commit, and so is each change of the run's row.
    if (isOnPostgres) expect(commits - saves).toBeGreaterThanOrEqual(setUp.engine ? 2 : 0)
  }
  const of = (wanted: string): SetUpCost | undefined => cost.setUps.find(({ name }) => name === wanted)
  const beyondSaves = (name: string) => (of(name)?.commits ?? Number.NaN) - (of(name)?.saves ?? Number.NaN)
  for (const engine of ['pg-boss', 'dbos']) expect(beyondSaves(engine)).toBeGreaterThan(beyondSaves('durable'))
  // Other engines write at their own times, too.
  expect(beyondSaves('durable-events')).toBeGreaterThan(beyondSaves('durable'))
})

test('Ctrl-C ends the measurement, and removes its server and its files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // Its server may run as another user.
  await chmod(folder, 0o755)
  await using bench = await spawnBench(['--durable', '--runs', '1'], { ...process.env, TMPDIR: folder })
  const madeByServer = async () => (await readdir(folder)).filter((name) => name.startsWith('meanwhile-'))
  // The server, and what the runs are measured in.
  await expect.poll(madeByServer, { timeout: 60_000 }).toHaveLength(2)
  bench.child.kill('SIGINT')
  expect(await bench.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('nothing was written') })
  expect(await madeByServer()).toEqual([])
})
