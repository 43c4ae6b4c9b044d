/** Tests all packages in one project, with the clients, the libraries and the schema library that users have. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './alone.ts'
import { runInBrowser } from './browser.ts'
import { project } from './project.ts'
import { command, step } from './step.ts'
import { alike, checkTypes } from './types.ts'
import type { Packed } from './workspace.ts'

/** Installs them, and returns the folder of the project; undefined if npm cannot. */
export function installTogether(folder: string, packages: readonly Packed[]): Promise<string | undefined> {
  const ranges = new Map(packages.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies)))
  const peers = [...ranges].flatMap(([name, range]) => (name.startsWith('@meanwhile/') ? [] : `${name}@${range}`))
  const all = [...packages.map(({ tarball }) => tarball), ...peers, 'zod', '@types/node']
  return step('install all in one project', () => project(join(folder, 'together'), all))
}

export async function checkTogether({ together, packages, oldest }: Bench): Promise<void> {
  const all = packages.flatMap((one) => one.entries)
  for (const entries of alike(all, oldest)) {
    const what = `${entries.join(', ')}: types with TypeScript ${oldest.version}`
    await step(what, () => checkTypes(entries, oldest, together))
  }

  const serve = `import { spawnModelServer } from '@meanwhile/harness/server'; await (await spawnModelServer()).close()`
  await writeFile(join(together, 'serve.js'), serve)
  await command('serve models from a separate process', process.execPath, ['serve.js'], together)
  await step('run an agent bundled for a browser', () => runInBrowser(together))
}
