/** Tries the loops of other libraries, each in its own process. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { versionsOf } from '../../peers/install.ts'
import type { LoopCell } from './loop-cells.ts'
import { LOOP_TITLES, type LoopTitle } from './loops.ts'

/** The outcome of a loop, or why it was not tried. */
export type TriedLoop =
  | { readonly title: LoopTitle; readonly cell: LoopCell }
  | { readonly title: LoopTitle; readonly problem: string }

export interface TriedLoops {
  /** `ai 7.0.173` */
  readonly versions: readonly string[]
  readonly loops: readonly TriedLoop[]
}

const PROGRAM = fileURLToPath(new URL('loop-process.ts', import.meta.url))
const FOLDERS = { ai: '../../..', '@librechat/agents': '../../../proved/librechat' }

/** The longest that one loop may take, in milliseconds. */
const TIME = 600_000

/** Rejects with the signal's reason when it aborts. */
export async function triedLoops(signal: AbortSignal): Promise<TriedLoops> {
  const versions = await Promise.all(
    Object.entries(FOLDERS).map(([name, folder]) =>
      versionsOf([name], fileURLToPath(new URL(folder, import.meta.url))),
    ),
  )
  const loops: TriedLoop[] = []
  for (const title of LOOP_TITLES) loops.push(await triedLoop(title, signal))
  return { versions: versions.flat(), loops }
}

async function triedLoop(title: LoopTitle, signal: AbortSignal): Promise<TriedLoop> {
  signal.throwIfAborted()
  const child = spawn(process.execPath, ['--conditions=@meanwhile/source', '--no-warnings', PROGRAM, title], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: TIME,
  })
  const stop = () => child.kill()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const ended = once(child, 'close').then((): TriedLoop => ({ title, problem: 'its process has ended' }))
    const tried = once(child, 'message').then(([message]) => message as TriedLoop)
    const first = await Promise.race([tried, ended])
    signal.throwIfAborted()
    return first
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
