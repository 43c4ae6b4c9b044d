import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as core from '@meanwhile/core'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { main } from '../../main.ts'
import { UsageError } from '../../usage-error.ts'
import { against, PLAN, roundsOf } from './against.ts'
import { type Core, WORK_NAMES, WORKS } from './works.ts'

const SOURCES = fileURLToPath(import.meta.resolve('@meanwhile/core'))
const LITTLE = { works: ['runs'], starts: 1, part: 0.02 } as const
const signal = new AbortController().signal

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test.each(WORK_NAMES)('the work "%s" is done by the core that is passed to it', async (name) => {
  await expect(WORKS[name].make(core, 3)).resolves.toBeUndefined()
})

test('a core that does not do all of the work is an error', async () => {
  const lazy: Core = { ...core, createAgent: (options) => core.createAgent({ ...options, tools: [] }) }
  for (const name of ['runs', 'together', 'calls'] as const) {
    await expect(WORKS[name].make(lazy, 3)).rejects.toThrow('0 calls were made, not 3')
  }
  await expect(WORKS.steps.make(lazy, 3)).rejects.toThrow('0 calls were made, not 2')
})

test('the present core is compared with another one, and neither a process nor a file remains', async () => {
  const [folder, temporary] = [await folderWith(`export * from ${JSON.stringify(SOURCES)}`), await emptyFolder()]
  vi.stubEnv('TMPDIR', temporary)
  let rounds = 0
  const { older, comparisons } = await against({ folder, signal, plan: LITTLE, onRound: () => rounds++ })
  expect(rounds).toBe(roundsOf(LITTLE))
  expect(older.version).toBe('0.0.7')
  const [comparison, ...others] = comparisons
  expect(others).toEqual([])
  expect(comparison?.title).toBe('a run: 2 steps, 1 tool, 50 deltas')
  for (const time of [comparison?.older, comparison?.present, comparison?.ratio.median]) expect(time).toBeGreaterThan(0)
  expect(await ownFiles(temporary)).toEqual([])
  await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('ProcessWrap')
})

test('a core that cannot be loaded is a usage error', async () => {
  const folder = await folderWith('throw new Error("made of air")')
  const failed = against({ folder, signal, plan: LITTLE })
  await expect(failed).rejects.toThrow(UsageError)
  await expect(failed).rejects.toThrow(`${join(folder, 'index.js')}: made of air`)
})

test('the signal ends the processes, and nothing remains', async () => {
  const [folder, temporary] = [await folderWith(`export * from ${JSON.stringify(SOURCES)}`), await emptyFolder()]
  vi.stubEnv('TMPDIR', temporary)
  const stop = new AbortController()
  const plan = { ...LITTLE, part: 1_000 }
  const stopped = against({ folder, signal: stop.signal, plan, onRound: () => setTimeout(() => stop.abort(), 300) })
  await expect(stopped).rejects.toThrow('a process that makes runs has ended')
  expect(await ownFiles(temporary)).toEqual([])
  await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('ProcessWrap')
})

test('on the command line, a folder without a core ends with exit code 2 and one line', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue()
  const folder = await emptyFolder()
  expect(await main(['--overhead', '--against', folder])).toBe(2)
  expect(error.mock.calls).toEqual([[expect.stringMatching(`^error: ${folder} has no @meanwhile/core: name a`)]])
})

test('every work is measured many times', () => {
  expect(PLAN.works).toEqual(['runs', 'calls', 'steps', 'together'])
  expect(roundsOf({ works: ['calls', 'steps'], starts: 2, part: 1 })).toBe(
    2 * (WORKS.calls.warmUps + WORKS.calls.rounds + WORKS.steps.warmUps + WORKS.steps.rounds),
  )
})

/** Node also keeps the bundler's compiled code there. */
async function ownFiles(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name !== 'node-compile-cache')
}

/** A folder with this code as its core. */
async function folderWith(code: string): Promise<string> {
  const folder = await emptyFolder()
  const exports = { '.': { default: './index.js' } }
  const manifest = { name: '@meanwhile/core', version: '0.0.7', type: 'module', exports }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(folder, 'index.js'), code)
  return folder
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}
