import { expect, test } from 'vitest'
import { currentFormat, formatComplaints, readFormat, shapesOf } from './formats.ts'

const FILES: Readonly<Record<string, string>> = {
  'a/run.ts':
    "import type { Call } from './call.ts'\nimport { act } from './act.ts'\nexport class Run { #a = 1; readonly calls: readonly Call[] = act() }",
  'a/call.ts': 'export interface Call { readonly id: string }',
  'a/act.ts': 'export function act(): never { throw new Error() }',
}

const shapes = (changes: Readonly<Record<string, string>> = {}) => {
  const files = { ...FILES, ...changes }
  return shapesOf(['a/run.ts'], (file) => files[file] ?? '')
}

test('the shapes that copies share are those of the recorded format (W27)', () => {
  expect(formatComplaints(readFormat(), currentFormat())).toEqual([])
})

test('the shapes of a format are the types of its files, and of those from which these types come (W27)', () => {
  expect(Object.keys(shapes())).toEqual(['a/call.ts', 'a/run.ts'])
})

test('a changed type needs another number of the format; a comment, a body and a further private member do not (W27)', () => {
  const recorded = { format: 1, shapes: shapes() }
  const changed = { format: 1, shapes: shapes({ 'a/call.ts': 'export interface Call { readonly id: number }' }) }
  expect(formatComplaints(recorded, changed)).toEqual([expect.stringContaining('a/call.ts')])
  expect(formatComplaints(recorded, { ...changed, format: 2 })).toEqual([expect.stringContaining('--write')])
  const same = {
    'a/run.ts': String(FILES['a/run.ts']).replace('#a = 1', '#a = 1; #b = 2'),
    'a/call.ts': '/** A call. */\nexport interface Call {\n  readonly id: string // an id\n}',
    'a/act.ts': 'export function act(): never { throw new TypeError() }',
  }
  expect(formatComplaints(recorded, { format: 1, shapes: shapes(same) })).toEqual([])
})
