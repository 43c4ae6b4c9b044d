/** What core itself costs: in process, without a network, a wire or an SDK. */

import { execFile, fork } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build, type Rollup } from 'vite'
import type { Figures } from './overhead-table.ts'

export const WORKS = ['speed', 'held', 'growth'] as const
export type Work = (typeof WORKS)[number]

const PROGRAM = fileURLToPath(new URL('./overhead-process.ts', import.meta.url))
const CORE = fileURLToPath(new URL('../../../packages/core/src/index.ts', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** Each measurement has a process of its own, one after another: none has another's heap, or its time. */
export async function overhead(signal: AbortSignal): Promise<Figures> {
  let figures: Partial<Figures> = {}
  for (const work of WORKS) figures = { ...figures, ...(await inProcess(work, signal)) }
  return { ...figures, ...(await built(signal)) } as Figures
}

/** Figures of one kind of work. */
function inProcess(work: Work, signal: AbortSignal): Promise<Partial<Figures>> {
  return new Promise((resolve, reject) => {
    const child = fork(PROGRAM, [work], { execArgv: [...process.execArgv, '--expose-gc'], signal })
    child.once('message', (figures) => resolve(figures as Partial<Figures>))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${work}: the process ended with ${code} and no figures`)))
  })
}

/** Size of all of core in one file, and the time to import it as it is published, file by file. */
async function built(signal: AbortSignal): Promise<Partial<Figures>> {
  const [bundle] = await chunks({ minify: true })
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-overhead-'))
  try {
    await symlink(MODULES, join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const files = await chunks({ preserveModules: true })
    for (const { fileName, code } of files) {
      await mkdir(dirname(join(folder, fileName)), { recursive: true })
      await writeFile(join(folder, fileName), code)
    }
    const entry = files.find(({ isEntry }) => isEntry)?.fileName ?? ''
    const times: number[] = []
    for (let time = 0; time < 9; time++) times.push(await importTime(join(folder, entry), signal))
    return { bundleKb: gzipSync(bundle?.code ?? '', { level: 9 }).length / 1_000, importMs: Math.min(...times) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface BuildOptions {
  readonly minify?: boolean
  readonly preserveModules?: boolean
}

async function chunks({
  minify = false,
  preserveModules = false,
}: BuildOptions): Promise<readonly Rollup.OutputChunk[]> {
  const outputs = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: {
        input: CORE,
        preserveEntrySignatures: 'strict',
        external: [/^@opentelemetry\//, /^node:/],
        output: { format: 'es', preserveModules, entryFileNames: '[name].js' },
      },
    },
  })
  const [output] = Array.isArray(outputs) ? outputs : [outputs]
  return output && 'output' in output ? output.output.filter((one) => one.type === 'chunk') : []
}

async function importTime(file: string, signal: AbortSignal): Promise<number> {
  const program = `const start = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - start)`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { signal })
  return Number(stdout)
}
