/** Writes a generated page of the documentation, or with --check compares it with the file. */

import { readFileSync, writeFileSync } from 'node:fs'

/** With --check writes nothing, and fails if the page is out of date; `script` is the command that updates it. */
export function generatedPage(path: string, page: string, script: string): void {
  if (!process.argv.includes('--check')) writeFileSync(path, page)
  else if (readFileSync(path, 'utf8') !== page) {
    console.error(`${path} is out of date: npm run ${script}`)
    process.exitCode = 1
  }
}
