import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordedRun } from '../../test/recorded.ts'
import { drawnRun, runWith } from '../../test/some-run.ts'
import { axisOf, FOLD_WIDTH, pausesOf, ticksOf } from './axis.ts'
import { MOST_LANES } from './pack.ts'
import { drawingOf, firstWindow, type Row, stepKey } from './rows.ts'
import { layoutOf } from './views.ts'
import { count, duration, tick } from './words.ts'

const windows = fc.option(fc.record({ from: fc.nat(3_000), to: fc.nat(3_000) }), { nil: undefined })

test('rows never cover each other, and each is inside the height of the drawing (DT5)', () => {
  const views = fc.constantFrom('was' as const, 'after' as const, 'serial' as const, 'bound' as const)
  fc.assert(
    fc.property(drawnRun, views, fc.boolean(), windows, ({ run }, view, narrow, window) => {
      const options = { view, narrow, now: 50_000, ...(window && { window }) }
      const { rows, height } = drawingOf(run, options)
      let until = 0
      for (const row of rows) {
        expect(row.y).toBeGreaterThanOrEqual(until)
        until = row.y + row.height
      }
      expect(until).toBeLessThanOrEqual(height)
      expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length)
    }),
    propertyRuns({ small: 200, middle: 320, whole: 50_000 }),
  )
})

test('a later time is never further left, and each place has its time (DT5)', () => {
  const times = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2 })
  fc.assert(
    fc.property(drawnRun, fc.integer({ min: 200, max: 2_000 }), times, ({ run }, width, parts) => {
      const now = run.end ?? 200_000
      const domain = { from: run.start, to: Math.max(now, run.start + 1) }
      const axis = axisOf(domain, width, pausesOf(run, layoutOf(run, 'was', now), now))
      const sorted = parts.map((part) => domain.from + part * (domain.to - domain.from)).sort((a, b) => a - b)
      const places = sorted.map(axis.x)
      for (const [index, place] of places.entries()) {
        expect(place).toBeGreaterThanOrEqual((places[index - 1] ?? 0) - 1e-6)
        expect(Math.abs(axis.x(axis.time(place)) - place)).toBeLessThan(1e-3)
      }
      expect(axis.x(domain.from)).toBeCloseTo(0)
      expect(axis.x(domain.to)).toBeCloseTo(width)
    }),
    propertyRuns({ small: 200, middle: 320, whole: 50_000 }),
  )
})

test('a pause longer than 5 s and a tenth of the busy time is folded, with its width fixed (DT5)', () => {
  const run = runWith({ responses: [{ start: 0, end: 1_000 }], calls: [] }, 'meanwhile', {
    responses: [{ start: 61_000, end: 62_000 }],
    calls: [],
  })
  const pauses = pausesOf(run, layoutOf(run, 'was', 0), 0)
  expect(pauses).toEqual([{ from: 1_000, to: 61_000 }])
  const axis = axisOf({ from: 0, to: 62_000 }, 434, pauses)
  expect([0, 1_000, 31_000, 61_000, 62_000].map(axis.x)).toEqual([0, 200, 200 + FOLD_WIDTH / 2, 234, 434])
  expect(ticksOf(axis, 0).map(({ label }) => label)).toEqual(['0', '500 ms', '61.5 s', '62 s'])
  const short = runWith({ responses: [{ start: 0, end: 1_000 }], calls: [] }, 'meanwhile', {
    responses: [{ start: 5_900, end: 6_900 }],
    calls: [],
  })
  expect(pausesOf(short, layoutOf(short, 'was', 0), 0)).toEqual([])
})

test('more than 14 calls of a step are packed into at most 12 lanes; opened, each has a row (DT5)', () => {
  const calls = Array.from({ length: 200 }, (_, n) => ({ start: 10 + n, end: 100 + n }))
  const run = runWith({ responses: [{ start: 0, end: 50 }], calls })
  const packed = drawingOf(run, { view: 'was', now: 0 }).rows.at(-1)
  expect(packed?.kind).toBe('packed')
  const bars = packed?.kind === 'packed' ? packed.bars : []
  expect(bars).toHaveLength(200)
  expect(new Set(bars.map(({ lane }) => lane)).size).toBe(MOST_LANES)
  const [step] = run.steps
  const opened = drawingOf(run, { view: 'was', now: 0, opened: new Set(step ? [stepKey(run, step)] : []) })
  expect(kinds(opened.rows)).toEqual({ responses: 1, call: 200 })
})

test('a run of many steps is drawn by its first steps, a running one by its last, and as a whole by a row each (DT5)', () => {
  const step = (index: number, end = index * 100 + 60) => ({
    responses: [{ start: index * 100, end }],
    calls: [{ start: index * 100 + 10, end: index * 100 + 90 }],
  })
  const [first, ...more] = Array.from({ length: 46 }, (_, index) => step(index))
  const run = runWith(first ?? step(0), 'meanwhile', ...more)
  const window = firstWindow(run, 0)
  expect(window).toEqual({ from: 0, to: 790 })
  expect(kinds(drawingOf(run, { view: 'was', now: 0, ...(window && { window }) }).rows)).toEqual({
    responses: 8,
    call: 8,
  })
  expect(kinds(drawingOf(run, { view: 'was', now: 0 }).rows)).toEqual({ step: 46 })
  expect(firstWindow({ ...run, state: 'running' }, 0)).toEqual({ from: 3_800, to: 4_590 })
  expect(firstWindow(recordedRun('trip'), 0)).toBeUndefined()
})

test('agents inside a call are drawn below it in a frame, unless they are folded (DT5)', () => {
  const run = recordedRun('trip')
  const guide = run.steps[0]?.calls.find(({ tool }) => tool === 'guide')
  const { rows, frames } = drawingOf(run, { view: 'was', now: 0 })
  expect(rows.filter(({ depth }) => depth === 1).map(({ kind }) => kind)).toEqual([
    'responses',
    'call',
    'call',
    'responses',
  ])
  expect(frames.map(({ from, to }) => [from, to])).toEqual([[guide?.start, guide?.end]])
  const folded = drawingOf(run, { view: 'was', now: 0, folded: new Set([guide?.key ?? '']) })
  expect(folded.rows.filter(({ depth }) => depth === 1)).toEqual([])
})

test('durations and counts are written alike everywhere (DT9)', () => {
  expect([0, 935, 999.6, 1_020, 59_994, 59_996, 1_095_000, 7_500_000].map(duration)).toEqual([
    '0 ms',
    '935 ms',
    '1.00 s',
    '1.02 s',
    '59.99 s',
    '1:00 min',
    '18:15 min',
    '2:05 h',
  ])
  expect([undefined, 7, 7_380, 1_156_900].map(count)).toEqual(['–', '7', '7\u202f380', '1\u202f156\u202f900'])
  expect([tick(0, 1), tick(500, 500), tick(2_500, 500), tick(380_000, 10_000)]).toEqual([
    '0',
    '500 ms',
    '2.5 s',
    '6:20 min',
  ])
})

function kinds(rows: readonly Row[]): Partial<Record<Row['kind'], number>> {
  const counts: Partial<Record<Row['kind'], number>> = {}
  for (const { kind } of rows) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
