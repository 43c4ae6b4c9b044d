/** Tests all packages in one project, with the clients and the schema library that users have. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './alone.ts'
import { runInBrowser } from './browser.ts'
import { project } from './project.ts'
import { command, step } from './step.ts'

export async function checkTogether({ folder, packages }: Bench): Promise<void> {
  const together = join(folder, 'together')
  const all = packages.map(({ tarball }) => tarball)
  if (
    !(await step('install all in one project', () => project(together, [...all, 'openai', '@anthropic-ai/sdk', 'zod'])))
  )
    return

  const serve = `import { spawnModelServer } from '@meanwhile/harness/server'; await (await spawnModelServer()).close()`
  await writeFile(join(together, 'serve.js'), serve)
  await command('serve models from a separate process', process.execPath, ['serve.js'], together)
  await step('run an agent bundled for a browser', () => runInBrowser(together))
}
