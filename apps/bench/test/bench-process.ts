/** Starts the benchmark as its user does, in a separate process. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type {} from '@meanwhile/tests/programs'
import { inject } from 'vitest'

const SOURCE = fileURLToPath(new URL('../src/index.ts', import.meta.url))

/** Built, unless the tests start it only once. */
const PROGRAM: string = inject('programs')?.[SOURCE] ?? SOURCE

export interface BenchProcess extends AsyncDisposable {
  readonly child: ChildProcess
  /** How it ended, and after how many milliseconds. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string; readonly ms: number }>
  /** The content of a file that it has written. */
  text(file: string): Promise<string>
}

/** One wire, few runs, all files in its own folder; `traces.json` may be named in the options. */
export function startBench(...options: readonly string[]): Promise<BenchProcess> {
  const files = ['--json', 'results.json', '--report', 'report.html']
  return spawnBench(['--wire', 'openai-chat', ...files, ...options])
}

/** Starts the bench in a new folder. */
export async function spawnBench(options: readonly string[], env = process.env): Promise<BenchProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  const start = performance.now()
  const args = ['--conditions=@meanwhile/source', '--no-warnings', PROGRAM, ...options]
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Awaited<BenchProcess['ended']>>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stderr, ms: performance.now() - start }))
  })
  return {
    child,
    ended,
    text: (file) => readFile(join(folder, file), 'utf8'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}
