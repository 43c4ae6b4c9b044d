import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { pageOf } from './page.ts'
import { changeOf, type Row, type Trial, type Tried } from './row.ts'
import { ROWS } from './rows.ts'

const trial: Trial = {
  folder: 'libraries',
  packages: ['other'],
  right: 'ours',
  theirs: async () => 'it broke',
  ours: async () => 'it held',
  expected: { theirs: 'it broke', ours: 'it held' },
}

const row: Row = {
  title: 'A case',
  library: 'Other',
  thread: { name: 'other/other#1', status: '2026-08, open' },
  test: { file: 'a.test.ts', title: 'it holds' },
  trial,
}

const tried: Tried = { versions: ['other 1.2.3'], outcome: trial.expected }

/** The case of one row on the page. */
function caseOn(rows: Readonly<Record<string, Row>>): string {
  const page = pageOf({ rows, tried: { one: tried }, on: '2026-11-29' })
  return page.slice(page.indexOf('## They are right'))
}

test('a case shows the library, its thread and versions, both outcomes, its script and our test', () => {
  const text = caseOn({ one: { ...row, note: 'It is an option.' } })
  expect(text).toMatch(/## Ours does not do this\n\n.*\n\n### A case/)
  expect(text).toContain('Other, [other/other#1](https://github.com/other/other/issues/1) (2026-08, open).')
  expect(text).toContain('Versions: other 1.2.3. It is an option.')
  expect(text).toContain('| Other | it broke |\n| ours | it held |')
  expect(text).toContain('[`one`](../apps/bench/src/proved/rows/one.ts). Our test: [it holds](../a.test.ts).')
})

test('a thread about something near is not called a report of the case', () => {
  const thread = { name: 'other/other#1', status: '2026-08, open', isRelated: true }
  const text = caseOn({ one: { ...row, thread } })
  expect(text).toContain(
    'Other, no report that we know; related: [other/other#1](https://github.com/other/other/issues/1) (2026-08, open).',
  )
})

test('cases in which the library is right come first, those that it has fixed after ours, those that were not run last', () => {
  const right = (of: Trial['right']): Row => ({ ...row, title: `right: ${of}`, trial: { ...trial, right: of } })
  const facts = { theirs: right('theirs'), ours: right('ours'), both: right('both') }
  const rows = { ...facts, none: { ...row, title: 'not run', trial: { notRun: 'no package' } } }
  const page = pageOf({ rows, tried: { theirs: tried, ours: tried, both: tried }, on: '2026-11-29' })
  const places = ['right: theirs', 'right: ours', 'right: both', '| not run |'].map((words) => page.indexOf(words))
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

test('a row is no longer right if the library does something else, or ours does', () => {
  const now = (outcome: Partial<Tried['outcome']>) =>
    changeOf(trial, { ...tried, outcome: { ...tried.outcome, ...outcome } })
  expect(now({})).toBeUndefined()
  expect(now({ theirs: 'it held' })).toBe('the library has changed; it was: it broke')
  expect(now({ ours: 'it broke' })).toBe('ours has changed; it was: it held')
})

test('each row has its script, and names one of our tests that exists', () => {
  const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  const hasScript = (name: string, { trial }: Row): boolean =>
    'notRun' in trial || existsSync(fileOf(`rows/${name}.ts`))
  const hasTest = ({ test: { file, title } }: Row): boolean =>
    title !== '' && readFileSync(fileOf(`../../../../${file}`), 'utf8').includes(title)
  const rows = Object.entries(ROWS)
  expect(rows.flatMap(([name, row]) => (hasScript(name, row) ? [] : [name]))).toEqual([])
  expect(rows.flatMap(([name, row]) => (hasTest(row) ? [] : [name]))).toEqual([])
})
