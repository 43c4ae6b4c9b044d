/** Runs the tests of a checkout with its own Vitest and configuration. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Checkout, CheckoutError } from './checkout.ts'
import type { Outcome, Outcomes } from './compare.ts'
import type { Splice } from './splice/config.ts'
import type { Added, SpliceSettings } from './splice/wraps.ts'

export interface TestRun {
  /** What is added to the functions of the library. Default: nothing. */
  readonly add?: keyof Added
  readonly paced: boolean
  readonly signal: AbortSignal
}

/** @throws {CheckoutError} No test passed, or Vitest could not start. Also throws the reason of `signal` if it aborts. */
export async function runTests(checkout: Checkout, { add, paced, signal }: TestRun): Promise<Outcomes> {
  const folder = await mkdtemp(join(tmpdir(), 'check-drop-ins-'))
  try {
    const [config, json] = [join(folder, 'vitest.config.mjs'), join(folder, 'results.json')]
    const settings = { paced, usesFile: join(folder, 'uses'), warningsFile: join(folder, 'warnings') }
    const base = resolve(checkout.folder, checkout.library.config)
    await writeFile(config, configText(base, spliceOf(checkout, add, settings)))
    const said = await vitest(
      checkout,
      ['--config', config, '--retry=2', '--reporter=json', `--outputFile=${json}`],
      signal,
    )
    const report = await textOf(json)
    const outcomes = report === '' ? new Map<string, Outcome>() : outcomesIn(report, checkout.folder)
    if (![...outcomes.values()].some(({ passed }) => passed)) {
      throw new CheckoutError(`no test passed in ${checkout.folder}; is everything built that its tests need?\n${said}`)
    }
    const [uses, warnings] = [await textOf(settings.usesFile), await textOf(settings.warningsFile)]
    return { tests: outcomes, uses: uses.length, warnings: [...new Set(warnings.split('\n').filter(Boolean))] }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Empty if the file does not exist. */
async function textOf(file: string): Promise<string> {
  return existsSync(file) ? await readFile(file, 'utf8') : ''
}

const HELPERS = fileURLToPath(new URL('./splice/config.ts', import.meta.url))
const WRAPS: Readonly<Record<Checkout['library']['name'], string>> = {
  'ai-sdk': fileURLToPath(new URL('./splice/ai-sdk.ts', import.meta.url)),
  langchain: fileURLToPath(new URL('./splice/langchain.ts', import.meta.url)),
  'openai-agents': fileURLToPath(new URL('./splice/openai-agents.ts', import.meta.url)),
}

function spliceOf({ library, folder, dropIn, ours }: Checkout, add: TestRun['add'], settings: SpliceSettings): Splice {
  const absolute = (path: string): string => join(folder, path)
  return {
    folder,
    modules: Object.fromEntries(Object.entries(library.splices).map(([path, names]) => [absolute(path), names])),
    imports: {
      ...ours,
      ...Object.fromEntries(
        Object.entries(library.imports).map(([name, path]) => [
          name.startsWith('.') ? absolute(name) : name,
          absolute(path),
        ]),
      ),
    },
    wraps: WRAPS[library.name],
    ...(add && { dropIn: { module: dropIn, name: add } }),
    settings,
  }
}

/** Vitest needs only this one file. */
function configText(base: string, splice: Splice): string {
  return `import base from ${JSON.stringify(base)}
import { splicedConfig } from ${JSON.stringify(HELPERS)}
export default splicedConfig(base, ${JSON.stringify(splice, null, 2)})
`
}

/** Returns the end of its output. */
async function vitest(
  { vitest, folder, files }: Checkout,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const env = { ...process.env, CI: 'true', NO_COLOR: '1' }
  // Its own process group: Vitest has workers, which must end with it.
  const child = spawn(process.execPath, [vitest, 'run', ...args, ...files], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let ending: Promise<void> | undefined
  const end = () => {
    ending ??= endGroup(child)
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    const said = Promise.all([text(child.stdout), text(child.stderr)])
    await once(child, 'exit')
    // Workers that are still running hold the pipes.
    await ending
    const [out, errors] = await said
    signal.throwIfAborted()
    return `${out}${errors}`.trim().slice(-LAST_WORDS)
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Resolves when the whole group has ended or was killed: workers may block, and outlive Vitest. */
async function endGroup({ pid }: ChildProcess): Promise<void> {
  if (pid === undefined) return
  const until = performance.now() + GRACE
  for (let isThere = tell(pid, 'SIGTERM'); isThere && performance.now() < until; isThere = tell(pid, 0))
    await sleep(POLL)
  tell(pid, 'SIGKILL')
}

/** Sends a signal to the group. Returns whether the group still exists. */
function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

const POLL = 50
const GRACE = 3_000
const LAST_WORDS = 2_000

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** By file and full name; a repeated name gets a number. Skipped tests are left out. */
export function outcomesIn(json: string, folder: string): ReadonlyMap<string, Outcome> {
  const { testResults } = JSON.parse(json) as Report
  const outcomes = new Map<string, Outcome>()
  for (const { name, assertionResults } of testResults) {
    const file = name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name
    const seen = new Map<string, number>()
    for (const { fullName, status, failureMessages } of assertionResults) {
      if (status !== 'passed' && status !== 'failed') continue
      const times = (seen.get(fullName) ?? 0) + 1
      seen.set(fullName, times)
      const reason = failureMessages?.[0]?.split('\n')[0]
      const key = `${file}: ${fullName}${times > 1 ? ` (${times})` : ''}`
      outcomes.set(key, { passed: status === 'passed', ...(reason !== undefined && { reason }) })
    }
  }
  return outcomes
}
