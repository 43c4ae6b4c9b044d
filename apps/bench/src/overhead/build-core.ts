/** Builds the core of this checkout as it is published. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface BuiltCore extends AsyncDisposable {
  /** It has core's dependencies, and is deleted when this is disposed of. */
  readonly folder: string
  /** The file that applications import. */
  readonly index: string
}

const CORE = fileURLToPath(new URL('../../../../packages/core', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url))

const run = promisify(execFile)

export async function buildCore(signal: AbortSignal): Promise<BuiltCore> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-core-'))
  const remove = (): Promise<void> => rm(folder, { recursive: true })
  try {
    await symlink(MODULES, join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{"type":"module","sideEffects":false}')
    const dist = join(folder, 'dist')
    await run('rolldown', ['-c', '../../rolldown.config.ts', '-d', dist], { cwd: CORE, signal })
    return { folder, index: join(dist, 'index.js'), [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}
