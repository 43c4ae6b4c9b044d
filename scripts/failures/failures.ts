/** What has failed in a run of all stages, as short as the end of an output must be. */

import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The part that counts here of a report that Vitest writes with `--reporter=json`. */
interface Report {
  readonly testResults: readonly TestFile[]
}

interface TestFile {
  readonly name: string
  /** Why the file itself failed, for example because it could not be loaded. */
  readonly message: string
  readonly status: string
  readonly assertionResults: readonly Test[]
}

interface Test {
  readonly fullName: string
  readonly status: string
  readonly failureMessages: readonly string[]
}

/** The lines of all stages together. */
const LIMIT = 120
const LINES_OF_OUTPUT = 30
const LINES_OF_ERROR = 4

/**
 * What failed in the stages whose results are in this folder: `summary`, and for each stage the output `NAME.out` and the report of its tests
 * `NAME.tests.json`, if it has tests.
 */
export function failuresIn(folder: string): readonly string[] {
  const failed = [...textOf(join(folder, 'summary')).matchAll(/^FAILED {2}(\S+)/gm)].map(([, name = '']) => name)
  const share = Math.floor(LIMIT / failed.length)
  return failed.flatMap((name) => failuresOf(join(folder, name), name, share))
}

function failuresOf(path: string, name: string, limit: number): readonly string[] {
  const tests = failedTests(`${path}.tests.json`)
  if (tests.length === 0) {
    const count = Math.min(LINES_OF_OUTPUT, limit - 1)
    const output = textOf(`${path}.out`).trimEnd().split('\n')
    return [`--- ${name}: the end of its output`, ...output.slice(Math.max(0, output.length - count))]
  }
  const lines = tests.flat()
  const title = `--- ${name}: what failed in its tests`
  return lines.length < limit
    ? [title, ...lines]
    : [title, ...lines.slice(0, limit - 2), `and more: ${tests.length} failures in all`]
}

/** Each failed test, or file without a failed test, with the first lines of its error. */
function failedTests(file: string): readonly (readonly string[])[] {
  return reportIn(file).testResults.flatMap(({ name, status, message, assertionResults }) => {
    const path = relative(process.cwd(), name)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    const tests = failed.map((test) => [`${path}: ${test.fullName}`, ...beginOf(test.failureMessages.join('\n'))])
    return tests.length === 0 && status === 'failed' ? [[path, ...beginOf(message)]] : tests
  })
}

/** A stage that was stopped may have left a part of its report: then the end of its output says more. */
function reportIn(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return { testResults: [] }
  }
}

/** Its first words, and the first line of our code on its stack. */
function beginOf(error: string): readonly string[] {
  const lines = error.split('\n').filter((line) => line.trim() !== '')
  const stack = lines.findIndex(isCall)
  const words = stack === -1 ? lines : lines.slice(0, stack)
  const place = lines.find((line) => isCall(line) && !line.includes('/node_modules/'))
  return [...words.slice(0, LINES_OF_ERROR - 1), ...(place === undefined ? [] : [place])].map(
    (line) => `    ${line.trim()}`,
  )
}

const isCall = (line: string): boolean => /^ +at /.test(line)

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
