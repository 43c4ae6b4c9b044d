import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { failuresIn } from './failures.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'meanwhile-failures-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`)

function testOf(title: string, ...failureMessages: readonly string[]) {
  return { fullName: title, status: failureMessages.length > 0 ? 'failed' : 'passed', failureMessages }
}

const fileOf = (path: string, message: string, ...assertionResults: readonly ReturnType<typeof testOf>[]) => ({
  name: resolve(path),
  message,
  status: message !== '' || assertionResults.some(({ status }) => status === 'failed') ? 'failed' : 'passed',
  assertionResults,
})

test('of a stage that failed the end of its output is printed, and nothing of one that passed', () => {
  write('summary', 'passed  prose (12 s, 3 s of CPU)\nFAILED  docs (9 s, 8 s of CPU, exit code 1)\n')
  write('prose.out', 'fine\n')
  write('docs.out', `${numbered(40).join('\n')}\n\n`)
  expect(failuresIn(folder)).toEqual(['--- docs: the end of its output', ...numbered(40).slice(10)])
})

test('of a stage with tests each failed test is named, with the first lines of its error and the line where it failed', () => {
  write('summary', 'FAILED  tests (9 s, 8 s of CPU, exit code 1)\n')
  write('tests.out', 'much output\n')
  const error = [
    'AssertionError: expected 1 to be 2',
    '',
    'a',
    'b',
    'c',
    '    at /r/node_modules/v/x.js:1:1',
    '    at a.test.ts:4:2',
    '    at z.ts:1:1',
  ]
  const testResults = [
    fileOf('packages/a.test.ts', '', testOf('one is one'), testOf('one is two', error.join('\n'))),
    fileOf('packages/b.test.ts', "Cannot find './c.ts'"),
    fileOf('packages/d.test.ts', '', testOf('all is well')),
  ]
  write('tests.tests.json', JSON.stringify({ testResults }))
  expect(failuresIn(folder)).toEqual([
    '--- tests: what failed in its tests',
    'packages/a.test.ts: one is two',
    '    AssertionError: expected 1 to be 2',
    '    a',
    '    b',
    '    at a.test.ts:4:2',
    'packages/b.test.ts',
    "    Cannot find './c.ts'",
  ])
})

test('a stage whose tests all passed, and that failed all the same, tells the end of its output', () => {
  write('summary', 'FAILED  programs (9 s, 8 s of CPU, exit code 124)\n')
  write('programs.out', 'Unhandled Rejection\n')
  write('programs.tests.json', JSON.stringify({ testResults: [fileOf('a.test.ts', '', testOf('all is well'))] }))
  expect(failuresIn(folder)).toEqual(['--- programs: the end of its output', 'Unhandled Rejection'])
})

test('the report has at most 120 lines, however much failed', () => {
  const names = Array.from({ length: 26 }, (_, n) => `stage-${n}`)
  write('summary', names.map((name) => `FAILED  ${name} (1 s, 1 s of CPU, exit code 1)\n`).join(''))
  for (const name of names) write(`${name}.out`, numbered(50).join('\n'))
  const failed = Array.from({ length: 60 }, (_, n) => testOf(`test ${n}`, 'Error: no', 'Error: not either'))
  write('stage-0.tests.json', JSON.stringify({ testResults: [fileOf('a.test.ts', '', ...failed)] }))
  const lines = failuresIn(folder)
  expect(lines.length).toBeLessThanOrEqual(120)
  expect(lines.filter((line) => line.startsWith('--- '))).toHaveLength(26)
  expect(lines).toContain('and more: 60 failures in all')
  expect(lines.at(-1)).toBe('line 50')
})
