import { expect, test } from 'vitest'
import { FIGURES, type Figure, type Shape } from './figures.ts'
import { complaints, type Held, table, tightened } from './held.ts'

const held: Held = {
  'agent-kb': 44.2,
  'code-lines': 1_000,
  files: 20,
  'bare-exports': 3,
  'call-functions': 200,
  'call-files': 50,
}

/** Every figure is at its limit, except the given ones. */
function shape(values: Partial<Record<Figure, number>> = {}): Shape {
  const entries = FIGURES.map((name) => [
    name,
    { value: values[name] ?? held[name], places: name === 'agent-kb' ? [] : ['a.ts'] },
  ])
  return Object.fromEntries(entries) as Shape
}

test('a figure above its limit fails the check with a line that shows the difference', () => {
  expect(complaints(held, shape())).toEqual([])
  expect(complaints(held, shape({ 'code-lines': 1_001, 'agent-kb': 44.3, files: 3 }))).toEqual([
    'agent-kb: 44.3, but the limit is 44.2',
    'code-lines: 1,001, but the limit is 1,000 (--list code-lines lists what is counted)',
  ])
})

test('a figure without a limit, and a limit for an unknown figure, fail the check', () => {
  const { files: _, ...others } = held
  expect(complaints({ ...others, coffees: 3 }, shape({ files: 1 }))).toEqual([
    'files: scripts/shape/held.json has no limit (--write sets it to the current value)',
    'scripts/shape/held.json has a limit for coffees, which is not a figure',
  ])
})

test('limits are lowered, never raised', () => {
  expect(tightened(held, shape({ 'code-lines': 900, files: 21 }))).toEqual({ ...held, 'code-lines': 900 })
})

test('the table has a line for each figure', () => {
  const { files: _, ...others } = held
  expect(
    table(others, shape({ 'code-lines': 1_234, files: 7 }))
      .split('\n')
      .slice(0, 4),
  ).toEqual([
    'figure               now   limit',
    'agent-kb            44.2    44.2',
    'code-lines         1,234   1,000',
    'files                  7       –',
  ])
})
