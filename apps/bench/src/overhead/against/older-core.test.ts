import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { UsageError } from '../../usage-error.ts'
import { findOlderCore } from './older-core.ts'

const MANIFEST = { name: '@meanwhile/core', version: '0.0.7', exports: { '.': { default: './dist/index.js' } } }

test.each([
  ['the package', '.'],
  ['a checkout', 'packages/core'],
  ['where it is installed', 'node_modules/@meanwhile/core'],
  ['what npm pack has packed', 'package'],
])('the older core is found in a folder that is %s', async (_, place) => {
  const folder = await temporary()
  const core = await written(folder, place, MANIFEST)
  await mkdir(join(core, 'dist'))
  await writeFile(join(core, 'dist/index.js'), '')
  expect(await findOlderCore(folder)).toEqual({ folder: core, version: '0.0.7', index: join(core, 'dist/index.js') })
})

test('a core that is not built is an error that says what to do', async () => {
  const folder = await temporary()
  const core = await written(folder, 'packages/core', MANIFEST)
  await expect(findOlderCore(folder)).rejects.toThrow(
    new UsageError(`the core in ${core} is not built: ${core}/dist/index.js is missing (npm run build makes it)`),
  )
})

test.each([
  ['nothing', undefined],
  ['another package', { ...MANIFEST, name: '@meanwhile/models' }],
  ['a manifest that is none', 'not JSON'],
])('a folder with %s is an error that says what to name', async (_, manifest) => {
  const folder = await temporary()
  if (manifest !== undefined) await written(folder, '.', manifest)
  await expect(findOlderCore(folder)).rejects.toThrow(UsageError)
  await expect(findOlderCore(folder)).rejects.toThrow(`${folder} has no @meanwhile/core: name a checkout`)
})

async function written(folder: string, place: string, manifest: unknown): Promise<string> {
  const core = join(folder, place)
  await mkdir(core, { recursive: true })
  await writeFile(join(core, 'package.json'), typeof manifest === 'string' ? manifest : JSON.stringify(manifest))
  return core
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}
