import { expect, test } from 'vitest'
import { FIGURE_NAMES, type Shape } from './figures.ts'
import { complaints, type HeldFigures, lowerable, tightened } from './held.ts'
import { shapeTable } from './table.ts'

const held: HeldFigures = {
  'agent-kb': 44.2,
  lines: 1_000,
  files: 20,
  'long-files': 0,
  state: 30,
}

/** Every figure is at its limit, except the given ones. */
function shape(values: Partial<Record<keyof Shape, number>> = {}): Shape {
  const entries = FIGURE_NAMES.map((name) => [
    name,
    { value: values[name] ?? held[name] ?? 7, places: name === 'agent-kb' ? [] : ['a.ts'] },
  ])
  return Object.fromEntries(entries) as Shape
}

test('a figure above its limit fails the check with a line that shows the difference; one that is only printed does not', () => {
  expect(complaints(held, shape())).toEqual([])
  expect(complaints(held, shape({ lines: 1_001, 'agent-kb': 44.3, files: 3, 'call-functions': 999 }))).toEqual([
    'agent-kb: 44.3, but the limit is 44.2',
    'lines: 1,001, but the limit is 1,000 (--list lines lists what is counted)',
  ])
})

test('a figure without a limit, and a limit for an unknown figure, fail the check', () => {
  const { lines: _, ...others } = held
  expect(complaints({ ...others, coffees: 3 }, shape())).toEqual([
    'lines: scripts/shape/held.json has no limit (--write sets it to the current value)',
    'scripts/shape/held.json has a limit for coffees, which is not a figure',
  ])
})

test('limits are lowered, never raised', () => {
  const now = shape({ lines: 900, files: 21 })
  expect(lowerable(held, now)).toEqual(['lines'])
  expect(tightened(held, now)).toEqual({ ...held, lines: 900 })
})

test('the table has a line for each figure', () => {
  const lines = shapeTable(shape({ lines: 1_234 }), held)
  expect(lines.split('\n').filter((line) => /^(figure|agent-kb|lines|state-fields)/.test(line))).toEqual([
    'figure                   now     held     aim',
    'agent-kb                44.2     44.2      32',
    'lines                  1,234    1,000  10,500',
    'state-fields               7  printed',
  ])
})
