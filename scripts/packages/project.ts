/** An empty project, as a user's who begins: nothing in it but what is installed. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { output } from './step.ts'

/** Makes the folder a project and installs what is named, without what npm would rather have asked about. */
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
