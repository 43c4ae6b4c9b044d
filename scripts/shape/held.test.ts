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

/** Every figure is at its limit, except the given ones. */
function shape(values: Partial<Record<keyof Shape, number>> = {}): Shape {
  const entries = FIGURE_NAMES.map((name) => [
    name,
    { value: values[name] ?? held[name]?.value ?? 7, places: name === 'agent-kb' ? [] : ['a.ts'] },
  ])
  return Object.fromEntries(entries) as Shape
}

test('a figure above its limit fails the check with a line that shows the difference; one that is only printed does not', () => {
  expect(complaints(held, shape())).toEqual([])
  expect(
    complaints(held, shape({ lines: 1_001, 'agent-kb': 44.3, files: 3, circles: 99, 'call-functions': 999 })),
  ).toEqual([
    'agent-kb: 44.3, but the limit is 44.2',
    'lines: 1,001, but the limit is 1,000 (--list lines lists what is counted)',
  ])
})

test('a figure without a limit, and a limit for an unknown figure, fail the check', () => {
  const { lines: _, ...others } = held
  expect(complaints({ ...others, coffees: { value: 3 } }, shape())).toEqual([
    'lines: scripts/shape/held.json has no limit (--write sets it to the current value)',
    'scripts/shape/held.json has a limit for coffees, which is not a figure',
  ])
})

test('without a reason limits are lowered, never raised', () => {
  const now = shape({ lines: 900, files: 21 })
  expect(lowerable(held, now)).toEqual(['lines'])
  expect(tightened(held, now)).toEqual({ ...held, lines: { value: 900 } })
})

test('with a reason limits are raised, too, and the reason stays until the figure is back at its old value', () => {
  const raised = tightened(held, shape({ lines: 1_100, files: 19 }), 'inner calls have ids')
  const first = { from: 1_000, to: 1_100, because: 'inner calls have ids' }
  expect(raised).toEqual({ ...held, lines: { value: 1_100, raised: [first] }, files: { value: 19 } })

  const again = tightened(raised, shape({ lines: 1_200, files: 19 }), 'a new effect')
  const second = { from: 1_100, to: 1_200, because: 'a new effect' }
  expect(again.lines).toEqual({ value: 1_200, raised: [first, second] })

  expect(tightened(again, shape({ lines: 1_050 })).lines).toEqual({ value: 1_050, raised: [first] })
  expect(tightened(again, shape({ lines: 1_000 })).lines).toEqual({ value: 1_000 })
})

test('a reason raises no limit that is not exceeded', () => {
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
