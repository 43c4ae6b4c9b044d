import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Copy, refusals, TOGETHER, together } from './two-copies.ts'

// Two copies of the packages in one process: because it loads the same files twice, because a bundler has inlined one, and as npm installs them
// if two packages need different versions.

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
let scratch: string

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'meanwhile-two-copies-')))
})

afterAll(() => rm(scratch, { recursive: true }))

const GUEST = "export * as core from '@meanwhile/core'; export * as middleware from '@meanwhile/middleware'"

async function loaded(): Promise<Copy> {
  return { core: await import('@meanwhile/core'), middleware: await import('@meanwhile/middleware') }
}

async function host() {
  return { ...(await loaded()), testing: await import('@meanwhile/assemble/testing') }
}

const guests = new Map<number, Promise<Copy>>()

/** The packages in one minified file, the same for each test. `format`: of its copy of core. */
async function bundled(format = 1): Promise<Copy> {
  const guest = guests.get(format) ?? bundle(format)
  guests.set(format, guest)
  return await guest
}

async function bundle(format: number): Promise<Copy> {
  const build = await rolldown({
    input: 'guest',
    platform: 'node',
    external: (id) => id.startsWith('@opentelemetry/'),
    resolve: { conditionNames: ['@meanwhile/source', 'node', 'import'] },
    plugins: [
      {
        name: 'guest',
        resolveId: (id) => (id === 'guest' ? join(ROOT, 'apps/tests/guest.ts') : null),
        load: (id) => (id.endsWith('/guest.ts') ? GUEST : null),
        transform: (code, id) => (id.endsWith('/vocabulary/brand.ts') ? withFormat(code, format) : null),
      },
    ],
  })
  const dir = join(scratch, `guest-${format}`)
  // Where the packages outside the bundle are found.
  await symlink(join(ROOT, 'node_modules'), join(scratch, 'node_modules')).catch(() => undefined)
  await build.write({ dir, entryFileNames: 'guest.mjs', chunkFileNames: '[name].mjs', minify: true })
  await build.close()
  return await import(/* @vite-ignore */ pathToFileURL(join(dir, 'guest.mjs')).href)
}

/** The source of a copy of another format and version. */
function withFormat(code: string, format: number): string {
  if (format === 1) return code
  const changed = code
    .replace('format: 1', `format: ${format}`)
    .replace("'0.1.0'", "'0.9.0'")
    .replace('"0.1.0"', '"0.9.0"')
  expect(changed).not.toBe(code)
  return changed
}

test('copies of the packages that a process loads from the same files work together (W27)', async () => {
  const first = await host()
  const second = await import('./second-copy.ts')
  expect(second.core.createAgent).not.toBe(first.core.createAgent)
  expect(await together(first, second)).toEqual(TOGETHER)
})

test('a copy that a bundler has inlined and minified works with the installed one (W27)', async () => {
  expect(await together(await host(), await bundled())).toEqual(TOGETHER)
})

test('whatever a copy of another format has made is refused with both versions and files (W27)', async () => {
  const told = await refusals(await host(), await bundled(2))
  const here = /0\.1\.0 \(format 1\) at \S*brand\.ts:\d+:\d+/
  const there = /0\.9\.0 \(format 2\) at \S*guest-2\/guest\.mjs:\d+:\d+/
  for (const [what, message] of Object.entries(told)) {
    expect([what, message]).toEqual([what, expect.stringMatching(here)])
    expect([what, message]).toEqual([what, expect.stringMatching(there)])
  }
})

test('an error of a copy of another format is not an instance of the classes of this one, and nothing throws (W27)', async () => {
  const [{ core }, { core: other }] = [await loaded(), await bundled(2)]
  const error: unknown = new other.MaxStepsError(1)
  expect(error instanceof core.AgentError).toBe(false)
  expect(error instanceof other.AgentError).toBe(true)
})

test('a class that extends one of our errors has only the instances of its own copy (W27)', async () => {
  const [{ core }, { core: other }] = [await loaded(), await bundled()]
  class Own extends core.AgentError {}
  class Other extends other.AgentError {}
  expect(new Other('no') instanceof Own).toBe(false)
  expect(new Other('no') instanceof core.AgentError).toBe(true)
  expect(new other.AgentError('no') instanceof Own).toBe(false)
  expect(new Own('no') instanceof Own).toBe(true)
})

test('two copies that npm has installed work together, or say that they cannot (W27)', async () => {
  const app = join(scratch, 'app')
  for (const name of ['core', 'assemble', 'middleware']) {
    const place = join(app, 'node_modules/@meanwhile', name)
    await mkdir(place, { recursive: true })
    const cwd = join(ROOT, 'packages', name)
    await run('rolldown', ['-c', '../../rolldown.config.ts', '-d', join(place, 'dist')], { cwd })
    await cp(join(cwd, 'package.json'), join(place, 'package.json'))
  }
  for (const name of ['@opentelemetry', 're2js', 'yaml'])
    await symlink(join(ROOT, 'node_modules', name), join(app, 'node_modules', name))
  for (const guest of ['same', 'other']) {
    const place = join(app, 'node_modules', guest)
    await cp(join(app, 'node_modules/@meanwhile'), join(place, 'node_modules/@meanwhile'), { recursive: true })
    await writeFile(join(place, 'index.mjs'), GUEST)
    await writeFile(join(place, 'package.json'), `{ "name": "${guest}", "exports": "./index.mjs" }`)
  }
  const dist = join(app, 'node_modules/other/node_modules/@meanwhile/core/dist')
  const changed = globSync(join(dist, '*.js')).filter((file) => readFileSync(file, 'utf8').includes('format: 1,'))
  expect(changed.length).toBeGreaterThan(0)
  for (const file of changed) await writeFile(file, withFormat(await readFile(file, 'utf8'), 2))
  await writeFile(join(app, 'app.mjs'), APP)
  const { stdout, stderr } = await run(process.execPath, [join(app, 'app.mjs')])
  expect(stderr).toBe('')
  const { same, other } = JSON.parse(stdout) as { same: unknown; other: Record<string, unknown> }
  expect(same).toEqual(TOGETHER)
  const here = join(app, 'node_modules/@meanwhile/core/')
  for (const [what, message] of Object.entries(other))
    for (const part of ['0.1.0 (format 1)', '0.9.0 (format 2)', here, dist])
      expect([what, message]).toEqual([what, expect.stringContaining(part)])
})

const APP = `
import * as core from '@meanwhile/core'
import * as testing from '@meanwhile/assemble/testing'
import * as middleware from '@meanwhile/middleware'
import * as same from 'same'
import * as other from 'other'
import { refusals, together } from ${JSON.stringify(fileURLToPath(new URL('two-copies.ts', import.meta.url)))}

const host = { core, testing, middleware }
console.log(JSON.stringify({ same: await together(host, same), other: await refusals(host, other) }))
`
