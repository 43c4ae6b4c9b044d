/**
 * Checks the words of every page, and of the comments, docstrings, messages and test titles of every source. The exit code is 1 if it finds
 * a word of `scripts/prose/words.yml`, or the id of a behaviour on a page or in a comment.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { proseLinter } from './linter.ts'

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean', default: false } },
  allowPositionals: true,
})
if (values.help) {
  console.log(`Usage: npm run lint:prose -- [path…]

Checks all files of the repository, or those in the given files and folders.`)
  process.exit()
}

const linter = await proseLinter()

const git = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', ...positionals]
const files = execFileSync('git', git, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  .split('\0')
  .filter((file) => /\.(?:md|tsx?|mjs)$/.test(file) && !/\/(?:test-data|fixtures|otlp-gen)\//.test(file))

let faults = 0
for (const file of files) {
  const { messages } = await linter.lintText(readFileSync(file, 'utf8'), resolve(file))
  for (const { line, column, message } of messages) {
    console.error(`${file}:${line}:${column}: ${message.replaceAll(/\s+/g, ' ')}`)
  }
  faults += messages.length
}
if (faults > 0) {
  console.error(`${faults} places to rewrite`)
  process.exitCode = 1
}
