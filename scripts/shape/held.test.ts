import { expect, test } from 'vitest'
import { FIGURE_NAMES, type Shape } from './figures.ts'
import { complaints, type HeldFigures, lowerable, tightened } from './held.ts'
import { shapeTable } from './table.ts'

const held: HeldFigures = {
  'files-in-circles': { value: 10 },
  'agent-kb': { value: 44.2 },
  lines: { value: 1_000 },
  files: { value: 20 },
  'long-files': { value: 0 },
  state: { value: 30 },
}

/** Everything is as it is held, except what is named. */
function shape(values: Partial<Record<keyof Shape, number>> = {}): Shape {
  const entries = FIGURE_NAMES.map((name) => [
    name,
    { value: values[name] ?? held[name]?.value ?? 7, places: name === 'agent-kb' ? [] : ['a.ts'] },
  ])
  return Object.fromEntries(entries) as Shape
}

test('a figure above what is held fails the check with a line that says by how much; one that is only printed does not', () => {
  expect(complaints(held, shape())).toEqual([])
  expect(
    complaints(held, shape({ lines: 1_001, 'agent-kb': 44.3, files: 3, circles: 99, 'call-functions': 999 })),
  ).toEqual([
    'agent-kb: 44.3, but at most 44.2 is held',
    'lines: 1,001, but at most 1,000 is held (--list lines shows what is counted)',
  ])
})

test('a figure that is held nowhere, and a held one that there is not, fail the check', () => {
  const { lines: _, ...others } = held
  expect(complaints({ ...others, coffees: { value: 3 } }, shape())).toEqual([
    'lines: scripts/shape/held.json does not say what is held (--write holds what there is now)',
    'scripts/shape/held.json holds coffees, and there is no such figure',
  ])
})

test('without a reason figures are lowered, never raised', () => {
  const now = shape({ lines: 900, files: 21 })
  expect(lowerable(held, now)).toEqual(['lines'])
  expect(tightened(held, now)).toEqual({ ...held, lines: { value: 900 } })
})

test('with a reason they are raised, too, and the reason stays until the figure is what it was', () => {
  const raised = tightened(held, shape({ lines: 1_100, files: 19 }), 'inner calls have ids')
  const first = { from: 1_000, to: 1_100, because: 'inner calls have ids' }
  expect(raised).toEqual({ ...held, lines: { value: 1_100, raised: [first] }, files: { value: 19 } })

  const again = tightened(raised, shape({ lines: 1_200, files: 19 }), 'a new effect')
  const second = { from: 1_100, to: 1_200, because: 'a new effect' }
  expect(again.lines).toEqual({ value: 1_200, raised: [first, second] })

  expect(tightened(again, shape({ lines: 1_050 })).lines).toEqual({ value: 1_050, raised: [first] })
  expect(tightened(again, shape({ lines: 1_000 })).lines).toEqual({ value: 1_000 })
})

test('a reason raises nothing that is not above what is held', () => {
  expect(tightened(held, shape(), 'for luck')).toEqual(held)
})

test('the table has a line for each figure, and for each reason', () => {
  const raised = { from: 900, to: 1_000, because: 'inner calls have ids' }
  const lines = shapeTable(shape({ lines: 1_234, circles: 3 }), { ...held, lines: { value: 1_000, raised: [raised] } })
  expect(lines.split('\n').filter((line) => /^(figure|circles|agent-kb|lines|state-fields)/.test(line))).toEqual([
    'figure                   now     held     aim',
    'circles                    3  printed       0',
    'agent-kb                44.2     44.2      32',
    'lines                  1,234    1,000  10,500',
    'state-fields               7  printed',
    'lines was raised from 900 to 1,000: inner calls have ids',
  ])
})
