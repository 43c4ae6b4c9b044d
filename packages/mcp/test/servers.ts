/** Servers in their own processes, for tests. */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = new URL('./server-process.ts', import.meta.url).pathname

/** The options of our server over its standard input and output. */
export function ours(env: Readonly<Record<string, string>> = {}): {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
} {
  return { command: process.execPath, args: [PROGRAM], env }
}

/** A line of the journal that the handlers write. */
export interface Line {
  readonly pid: number
  readonly tool?: string
  readonly what: string
  readonly key?: string
  readonly state?: string
  readonly authorization?: string
  readonly meta?: Readonly<Record<string, unknown>>
}

/** A journal in its own folder. */
export function journal(): { readonly JOURNAL: string; lines(): readonly Line[]; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'meanwhile-mcp-'))
  const JOURNAL = join(folder, 'journal')
  return {
    JOURNAL,
    lines() {
      try {
        const lines = readFileSync(JOURNAL, 'utf8').split('\n').filter(Boolean)
        return lines.map((line) => JSON.parse(line) as Line)
      } catch {
        return []
      }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Our server over HTTP, when it listens. */
export async function overHttp(
  env: Readonly<Record<string, string>> = {},
  port = 0,
): Promise<{ readonly url: string; readonly port: number; readonly child: ChildProcess; [Symbol.dispose](): void }> {
  const child = spawn(process.execPath, [PROGRAM, String(port)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (line) => resolve(String(line)))
    child.once('exit', () => reject(new Error('the server has ended')))
  })
  const { port: at } = JSON.parse(address) as { port: number }
  return { url: `http://127.0.0.1:${at}/mcp`, port: at, child, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}
