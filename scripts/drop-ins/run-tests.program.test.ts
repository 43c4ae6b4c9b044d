import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CheckoutError, checkoutAt } from './checkout.ts'
import { compared } from './compare.ts'
import { runTests } from './run-tests.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const { signal } = new AbortController()

/** The folder of our packages. This drop-in reports the tools it was declared, and one early call. */
const OURS = {
  'packages/core/package.json': JSON.stringify({ name: '@meanwhile/core', exports: {} }),
  'packages/assemble/package.json': JSON.stringify({ name: '@meanwhile/assemble', exports: {} }),
  'packages/eager-tools/package.json': JSON.stringify({
    name: '@meanwhile/eager-tools',
    exports: { './ai-sdk': { '@meanwhile/source': './src/ai-sdk.mjs' } },
    devDependencies: { ai: '7.0.173' },
  }),
  'packages/eager-tools/src/ai-sdk.mjs': `import { version } from 'ai'
export function eager(options, effects, { onStep, onWarning }) {
  onWarning({ message: 'one\\nline' })
  onStep({ calls: [{ evidence: 'closed' }, {}] })
  return { ...options, effects, version }
}`,
}

const LIBRARY = {
  'packages/ai/package.json': JSON.stringify({ name: 'ai', version: '7.0.1', type: 'module' }),
  'packages/ai/vitest.node.config.js': 'export default {}',
  'packages/ai/src/index.ts': "export const version = 'of the checkout'",
  'packages/ai/src/generate-text/stream-text.ts': `export const streamText = (options: object) => options
export const other = 'as it is'`,
  'packages/ai/src/generate-text/inside.ts': `import { streamText } from './stream-text'
export const inside = () => streamText({ tools: { look: {} } })`,
  'packages/ai/src/generate-text/stream-text.test.ts': `import { expect, test } from 'vitest'
import { inside } from './inside'
import { other, streamText } from './stream-text'
test('others go on', () => expect(other).toBe('as it is'))
test('the library itself asks its own function', () => expect(inside()).toEqual({ tools: { look: {} } }))
test('without tools nothing is added', () => expect(streamText({})).toEqual({}))
test('with tools nothing is added', () => expect(streamText({ tools: { look: {} } })).toEqual({ tools: { look: {} } }))
test('every tool is a read', () => {
  const effects = { effects: { look: 'read', find: 'read' }, version: 'of the checkout' }
  expect(streamText({ tools: { look: {}, find: {} } })).toMatchObject(effects)
})`,
}

test('the tests of a library run unchanged, and with the drop-in in place of the functions they import', async () => {
  const [path, root] = [await folderWith(LIBRARY), await folderWith(OURS)]
  await symlink(MODULES, join(path, 'node_modules'))
  const checkout = checkoutAt(path, root)
  expect(checkout).toMatchObject({ version: '7.0.1', pinned: '7.0.173' })
  expect(checkout.files).toEqual(['src/generate-text/stream-text.test.ts'])
  const plain = await runTests(checkout, { paced: false, signal })
  const eager = await runTests(checkout, { add: 'eager', paced: false, signal })
  const namesOf = (passed: boolean, tests: typeof plain.tests) =>
    [...tests].filter(([, outcome]) => outcome.passed === passed).map(([test]) => test.replace(/.*: /, ''))
  expect(namesOf(false, plain.tests)).toEqual(['every tool is a read'])
  expect(namesOf(false, eager.tests)).toEqual(['with tools nothing is added'])
  expect(plain.uses).toBe(0)
  expect([plain.warnings, eager.warnings]).toEqual([[], ['one line']])
  expect(eager.uses).toBeGreaterThan(0)
  const { passed, forbidden } = compared(plain, eager, [])
  expect([passed, forbidden.length]).toEqual([4, 1])
})

test('a drop-in imports the tested library, also if the library aliases its name to another file', async () => {
  const aliases = "{ ai: new URL('./src/other.ts', import.meta.url).pathname }"
  const aliased = {
    ...LIBRARY,
    'packages/ai/vitest.node.config.js': `export default { resolve: { alias: ${aliases} }, test: { alias: ${aliases} } }`,
    'packages/ai/src/other.ts': "export const version = 'of another file'",
  }
  const [path, root] = [await folderWith(aliased), await folderWith(OURS)]
  await symlink(MODULES, join(path, 'node_modules'))
  const { tests } = await runTests(checkoutAt(path, root), { add: 'eager', paced: false, signal })
  expect(tests.get('src/generate-text/stream-text.test.ts: every tool is a read')).toEqual({ passed: true })
})

test('a path that is not a complete checkout is an error that names what is missing', async () => {
  const root = await folderWith(OURS)
  const failure = (path: string, ours = root) => {
    try {
      return checkoutAt(path, ours)
    } catch (error) {
      if (error instanceof CheckoutError) return error.message
      throw error
    }
  }
  const [path, other] = [await folderWith(LIBRARY), await folderWith({ 'package.json': '{}' })]
  expect(failure(join(path, 'no-such'))).toBe(`${join(path, 'no-such')} does not exist`)
  expect(failure(other)).toBe(
    `${other} is not a checkout of vercel/ai, langchain-ai/langchainjs, openai/openai-agents-js`,
  )
  expect(failure(path)).toBe(`${path} has no vitest: install its dependencies first, for example with pnpm install`)
  await symlink(MODULES, join(path, 'node_modules'))
  expect(failure(path, other)).toBe('@meanwhile/eager-tools has no ai-sdk')
  await rm(join(path, 'packages/ai/src/generate-text/stream-text.test.ts'))
  expect(failure(path)).toBe(`${join(path, 'packages/ai')} has none of the expected test files`)
})

test("a checkout in which no test passes is an error with Vitest's output", async () => {
  const broken = { ...LIBRARY, 'packages/ai/src/generate-text/stream-text.ts': "import 'no-such-package'" }
  const [path, root] = [await folderWith(broken), await folderWith(OURS)]
  await symlink(MODULES, join(path, 'node_modules'))
  const failed = runTests(checkoutAt(path, root), { paced: false, signal })
  await expect(failed).rejects.toThrow(CheckoutError)
  await expect(failed).rejects.toThrow('is everything built that its tests need?')
})

/** The source of a process that prints its id and ignores SIGTERM. */
const DEAF = `const { renameSync, writeFileSync } = require('node:fs')
process.on('SIGTERM', () => undefined)
writeFileSync('pid.tmp', String(process.pid))
renameSync('pid.tmp', 'pid')
`

test.each([
  ['waits', 'setInterval(() => undefined, 1_000)'],
  ['blocks', 'for (;;);'],
])('an abort ends all processes that the tests have started, and leaves no file: one that %s', async (_, work) => {
  const hanging = {
    ...LIBRARY,
    'packages/ai/src/generate-text/stream-text.test.ts': `import { spawn } from 'node:child_process'
import { test } from 'vitest'
test('hangs', async () => {
  spawn(process.execPath, ['-e', ${JSON.stringify(DEAF)} + ${JSON.stringify(work)}], { stdio: 'ignore' })
  await new Promise(() => undefined)
}, 600_000)`,
  }
  const [path, root] = [await folderWith(hanging), await folderWith(OURS)]
  await symlink(MODULES, join(path, 'node_modules'))
  const stop = new AbortController()
  const temporary = await folderWith({})
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const run = runTests(checkoutAt(path, root), { paced: false, signal: stop.signal })
  const failed = run.catch((error: Error) => error.message)
  const pid = await vi.waitFor(() => readFile(join(path, 'packages/ai/pid'), 'utf8'), {
    timeout: 50_000,
    interval: 50,
  })
  stop.abort(new Error('enough'))
  expect(await failed).toBe('enough')
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 60_000)
  expect((await readdir(temporary)).filter((name) => name.startsWith('check-drop-ins-'))).toEqual([])
})

/** A killed process may stay listed until its parent has waited for it. */
function isRunning(pid: string): boolean {
  return !/^(Z.*)?$/.test(spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).stdout.trim())
}

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'check-drop-ins-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}
