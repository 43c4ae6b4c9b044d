/** Creates an empty project, like a new user's: it contains only installed packages. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { output } from './step.ts'

/** Makes the folder a project and installs the dependencies, without npm's questions. */
export async function project(folder: string, dependencies: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  await output(
    'npm',
    ['install', '--prefix', folder, '--no-audit', '--no-fund', '--prefer-offline', ...dependencies],
    folder,
  )
  return folder
}
