/** The size of `createAgent` and `tool` in an application's bundle, as `npm run check:packages` measures sizes. */

import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { bundled, kilobytes } from '../packages/bundle.ts'
import { output } from '../packages/step.ts'
import type { Manifest } from '../packages/workspace.ts'

/** In kB. Builds core as it is published into a temporary folder: imports have no effects, and peers stay outside. */
export async function agentKilobytes(core: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-shape-'))
  try {
    const { peerDependencies } = JSON.parse(await readFile(join(core, 'package.json'), 'utf8')) as Manifest
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "sideEffects": false }\n')
    await output('rolldown', ['-c', '../../rolldown.config.ts', '-d', join(folder, 'dist')], core)
    const isPeer = (id: string): boolean =>
      Object.keys(peerDependencies).some((peer) => id === peer || id.startsWith(`${peer}/`))
    return kilobytes(await bundled(`export { createAgent, tool } from './dist/index.js'`, folder, isPeer))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
