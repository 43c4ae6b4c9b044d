/**
 * Installs the tools of a folder that has its own lock file: `node scripts/install-tools.ts FOLDER`. It does nothing if they are installed
 * and the lock file has not changed since.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

export function installTools(folder: string): void {
  // npm writes this file last, so after an install that broke off it is missing.
  const installed = join(folder, 'node_modules/.package-lock.json')
  if (existsSync(installed) && timeOf(installed) >= timeOf(join(folder, 'package-lock.json'))) return
  const { description } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { description: string }
  console.error(`Installing ${description} in ${relative('.', folder)}. Most commands do not need them.`)
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'], {
    cwd: resolve(folder),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

const timeOf = (file: string): number => statSync(file).mtimeMs

const [, script = '', folder] = process.argv
if (folder !== undefined && resolve(script) === import.meta.filename) installTools(folder)
