/**
 * Checks the words of every page, and of the comments, docstrings, messages and test titles of every source. The exit code is 1 if it finds
 * a word of `scripts/prose/words.yml`, or the id of a behaviour on a page or in a docstring.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { proseLinter } from './prose/linter.ts'

const NOT_YET = 'scripts/prose/not-yet.txt'

const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
})
if (values.help) {
  console.log(`Usage: npm run lint:prose -- [options] [path…]

Without a path, checks every file except those in ${NOT_YET}. With paths (files or folders), checks all files there.

Options
  --write  remove clean files from ${NOT_YET}, and check all other files; takes no path
  --help   show this`)
  process.exit()
}

const linter = await proseLinter()

const git = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', '--']
const files = execFileSync('git', [...git, ...(values.write ? [] : positionals)], {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
})
  .split('\0')
  .filter((file) => /\.(?:md|tsx?|mjs)$/.test(file) && !/\/(?:test-data|fixtures)\//.test(file))

const notYet = readFileSync(NOT_YET, 'utf8').split('\n').filter(Boolean)
const isChecked = (file: string): boolean => values.write || positionals.length > 0 || !notYet.includes(file)

const unclean = new Set<string>()
let faults = 0
for (const file of files.filter(isChecked)) {
  const { messages } = await linter.lintText(readFileSync(file, 'utf8'), resolve(file))
  if (messages.length > 0) unclean.add(file)
  if (values.write && notYet.includes(file)) continue
  for (const { line, column, message } of messages) {
    console.error(`${file}:${line}:${column}: ${message.replaceAll(/\s+/g, ' ')}`)
  }
  faults += messages.length
}
if (values.write) {
  const left = notYet.filter((file) => unclean.has(file))
  writeFileSync(NOT_YET, left.map((file) => `${file}\n`).join(''))
}
if (faults > 0) {
  console.error(`${faults} places to rewrite`)
  process.exitCode = 1
}
