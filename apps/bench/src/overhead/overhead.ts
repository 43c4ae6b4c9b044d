/** Measures the cost of core itself: in process, without a network, a wire or an SDK. */

import { execFile, fork } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { buildCore } from './build-core.ts'
import { spanCost } from './span-cost.ts'
import type { Figures } from './table.ts'

export const WORKS = ['speed', 'held', 'growth', 'traced', 'untraced'] as const
export type Work = (typeof WORKS)[number]

const PROGRAM = fileURLToPath(new URL('./process.ts', import.meta.url))
const run = promisify(execFile)

/** Each measurement has its own process, one after another, so none is affected by another's heap or time. */
export async function overhead(signal: AbortSignal): Promise<Figures> {
  let figures: Partial<Figures> = {}
  for (const work of WORKS) figures = { ...figures, ...(await inProcess(work, signal)) }
  const { perSpan, sdkAlone, ...cost } = await spanCost({ signal, execArgv: EXEC_ARGV })
  return { ...figures, ...cost, spanUs: perSpan, sdkSpanUs: sdkAlone, ...(await built(signal)) } as Figures
}

const EXEC_ARGV = ['--conditions=@meanwhile/source', '--expose-gc']

/** The figures of one kind of work. */
function inProcess(work: Work, signal: AbortSignal): Promise<Partial<Figures>> {
  return new Promise((resolve, reject) => {
    const child = fork(PROGRAM, [work], { execArgv: EXEC_ARGV, signal })
    child.once('message', (figures) => resolve(figures as Partial<Figures>))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${work}: the process ended with ${code} and no figures`)))
  })
}

/** The size of core in an application's bundle, and the time to import it, as it is published, compared with the AI SDK. */
async function built(signal: AbortSignal): Promise<Partial<Figures>> {
  await using present = await buildCore(signal)
  const agent = join(present.folder, 'agent.js')
  await writeFile(agent, `export { createAgent, tool } from './dist/index.js'`)
  const core: number[] = []
  const ai: number[] = []
  // By turns, so that both meet the same state of the machine.
  for (let time = 0; time < 9; time++) {
    core.push(await importTime(pathToFileURL(present.index).href, signal))
    ai.push(await importTime(import.meta.resolve('ai'), signal))
  }
  const importMs = Math.min(...core)
  const importOfAi = importMs / Math.min(...ai)
  return { bundleKb: await bundledKb(present.index), agentKb: await bundledKb(agent), importMs, importOfAi }
}

async function bundledKb(input: string): Promise<number> {
  // Only here, because it takes longer to load than the rest of the bench.
  const { build } = await import('vite')
  const outputs = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: {
        input,
        preserveEntrySignatures: 'strict',
        external: [/^@opentelemetry\//, /^node:/],
      },
    },
  })
  const [output] = Array.isArray(outputs) ? outputs : [outputs]
  const chunks = output && 'output' in output ? output.output.filter((one) => one.type === 'chunk') : []
  return gzipSync(chunks.map(({ code }) => code).join(''), { level: 9 }).length / 1_000
}

async function importTime(url: string, signal: AbortSignal): Promise<number> {
  const program = `const start = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - start)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { signal })
  return Number(stdout)
}
