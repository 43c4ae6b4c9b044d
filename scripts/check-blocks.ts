// Checks that all code in READMEs and pages runs: each block of `ts` or `tsx` must be part of a file under examples/, word for word.
import { globSync, readFileSync } from 'node:fs'

const PAGES = ['README.md', 'packages/*/README.md', 'docs/*.md', 'docs/{examples,migration,middleware,packages}/*.md']

/** Indentation and empty lines do not count. */
const plain = (code: string): string =>
  code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')

const examples = globSync('examples/**/*.{ts,tsx}', { exclude: ['**/node_modules/**'] }).map((file) =>
  plain(readFileSync(file, 'utf8')),
)

let failed = 0
for (const page of PAGES.flatMap((pattern) => globSync(pattern)).sort()) {
  const text = readFileSync(page, 'utf8')
  for (const { 1: code = '', index } of text.matchAll(/^```tsx?\n(.*?)^```/gms)) {
    if (examples.some((example) => example.includes(plain(code)))) continue
    failed++
    const line = text.slice(0, index).split('\n').length + 1
    console.error(`${page}:${line}: no example contains ${code.trim().split('\n')[0]}`)
  }
}
if (failed > 0) process.exitCode = 1
