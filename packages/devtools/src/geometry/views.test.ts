import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordedRun, recordedRuns } from '../../test/recorded.ts'
import { type DrawnRun, drawnRun, runWith } from '../../test/some-run.ts'
import type { Run } from '../model/run.ts'
import { sentenceOf } from './sentences.ts'
import { timesOf } from './times.ts'
import { layoutOf, mostSaved, type View } from './views.ts'

const VIEWS: readonly View[] = ['was', 'after', 'serial', 'bound']

test('after the stream each call starts when its response was accepted, one by one each after the other (DT5)', () => {
  const run = runWith({
    responses: [{ start: 0, first: 20, end: 100 }],
    calls: [
      { start: 30, end: 90, early: true, effect: 'read', closed: 25 },
      { start: 50, end: 150, early: true, effect: 'read', closed: 45 },
      { start: 60, end: 70, early: true, effect: 'read', closed: 55, fate: 'discarded' },
    ],
  })
  expect(placed(run, 'was')).toEqual({ starts: [30, 50, 60], end: 150, difference: 0 })
  expect(placed(run, 'after')).toEqual({ starts: [100, 100, 60], end: 200, difference: 50 })
  expect(placed(run, 'serial')).toEqual({ starts: [100, 160, 60], end: 260, difference: 110 })
  expect(placed({ ...run, slots: 1 }, 'after')).toEqual(placed(run, 'serial'))
})

test('the bound starts what its effect allows when its arguments were complete, and nothing else (DT5)', () => {
  const run = runWith({
    responses: [{ start: 0, end: 100 }],
    calls: [
      { start: 120, end: 150, effect: 'read', closed: 40 },
      { start: 121, end: 161, effect: 'external', closed: 50, deferral: 'effect' },
      { start: 122, end: 132, effect: 'read', closed: 60, deferral: 'conflict' },
    ],
  })
  expect(placed(run, 'bound')).toEqual({ starts: [40, 100, 100], end: 140, difference: -21 })
})

test('traces of others get a bound: no call can be complete before the first token; without one there is no figure (DT5)', () => {
  const others = (first?: number) =>
    runWith(
      {
        responses: [{ start: 0, ...(first !== undefined && { first }), end: 100 }],
        calls: [{ start: 106, end: 156 }],
      },
      'gen_ai',
    )
  expect(placed(others(30), 'bound')).toEqual({ starts: [30], end: 100, difference: -56 })
  expect(mostSaved(others(30), 200)).toBe(56)
  expect(mostSaved(others(), 200)).toBeUndefined()
  const [aiSdk, langchain] = [recordedRun('ai-sdk'), recordedRun('langchain')]
  expect(Math.round(mostSaved(aiSdk, 0) ?? 0)).toBe(823)
  expect(mostSaved(langchain, 0)).toBeUndefined()
})

test('later steps move with what an earlier one took, and an approval is not the end of a response (DT5)', () => {
  const first = { start: 30, end: 150, early: true, effect: 'read' }
  const run = runWith({ responses: [{ start: 0, end: 100 }], calls: [first] }, 'meanwhile', {
    responses: [{ start: 160, end: 200 }],
    calls: [{ start: 9_000, end: 9_010, stood: 8_990 }],
  })
  const { steps, end } = layoutOf(run, 'after', 0)
  expect(steps.map(({ shift, times }) => [shift, times.stood])).toEqual([
    [0, 100],
    [70, 200],
  ])
  expect(end).toBe(9_010 + 70)
})

test('with `meanwhile.time_saved.steps` the view is exactly what the run measured (DT5)', () => {
  const step = { responses: [{ start: 0, end: 100 }], calls: [{ start: 30, end: 150, early: true, effect: 'read' }] }
  expect(layoutOf({ ...runWith(step), savedBySteps: [42] }, 'after', 0).difference).toBe(42)
})

test('the switch is what runs of the bench measured, and without that close to it (DT5)', () => {
  const measured = recordedRuns('bench-f').filter(({ saved = 0 }) => saved > 0)
  expect(measured.map(({ agent }) => agent)).toEqual(['bench-d200', 'bench-f', 'bench-b'])
  for (const run of measured) {
    const { saved = 0, ...untold } = run
    const tolerance = run.agent === 'bench-d200' ? 11.5 : 1
    expect(layoutOf(run, 'after', 0).difference).toBeCloseTo(saved, 9)
    expect(Math.abs(layoutOf(untold, 'after', 0).difference - saved)).toBeLessThan(tolerance)
  }
})

test('agents inside move with their call and keep their own times; a wait for the rest of the input is not work (DT5)', () => {
  const run = recordedRun('trip')
  const [hotels] = run.steps[0]?.calls.filter(({ tool }) => tool === 'hotels') ?? []
  const { steps, difference } = layoutOf(run, 'after', 0)
  expect(Math.round(difference)).toBe(1_015)
  expect(steps.map(({ shift }) => Math.round(shift))).toEqual([0, 1_013, 1_015])
  expect(hotels?.waits.map(({ kind }) => kind)).toEqual(['rest', 'commit'])
})

test('no view makes a step shorter than its stream or starts a call before its run, and `was` moves nothing (DT5)', () => {
  fc.assert(
    fc.property(drawnRun, fc.constantFrom(...VIEWS), (drawn: DrawnRun, view) => {
      const run = drawn.run
      const { steps, difference } = layoutOf(run, view, run.end ?? 10_000_000)
      for (const { step, times, starts, shift, end } of steps) {
        expect(end - shift).toBeGreaterThanOrEqual(times.stood)
        for (const start of starts) expect(start - shift).toBeGreaterThanOrEqual(Math.min(times.start, run.start))
        if (view === 'was') expect([shift, starts]).toEqual([0, step.calls.map((call) => call.start)])
      }
      if (view === 'bound') expect(difference).toBeLessThanOrEqual(0)
    }),
    propertyRuns({ small: 300, middle: 480, whole: 50_000 }),
  )
})

test('each call has a sentence that says why it started when it did (DT8)', () => {
  const run = recordedRun('trip')
  expect(
    run.steps.flatMap((step) => step.calls.map((call) => `${call.tool}: ${sentenceOf(call, step, run.dialect, 0)}`)),
  ).toEqual([
    'flights: started 2.41 s before the end of the response: `read`, arguments complete',
    'weather: started 2.21 s before the end of the response: `read`, arguments complete',
    'hotels: started 2.08 s before the end of the response: `read`, had the arguments it needs',
    'guide: started 937 ms before the end of the response: `calls`, arguments complete',
    'hold_room: discarded: the next attempt did not ask for it, and undone',
    'hold_room: started 909 ms before the end of the response: `reversible`, arguments final',
    'send_mail: waited behind an earlier call that is not a `read`',
  ])
  const ai = recordedRun('ai-sdk')
  expect(ai.steps[0]?.calls.map((call) => ai.steps[0] && sentenceOf(call, ai.steps[0], ai.dialect, 0))).toEqual([
    'started 6 ms after the response',
    'started 6 ms after the response',
  ])
})

test('a sentence names the tool behind which a call waited, and says in a running response that it started early (DT8)', () => {
  const step = runWith({
    responses: [{ start: 0 }],
    calls: [
      { start: 10, early: true, effect: 'read' },
      { start: 10, end: 20, early: true, effect: 'read' },
      { start: 130, end: 140, effect: 'read', deferral: 'conflict', waitedFor: 'guide' },
      { start: 130, end: 140, effect: 'read', deferral: 'order' },
    ],
  }).steps[0]
  expect(step?.calls.map((call) => sentenceOf(call, step, 'meanwhile', 100))).toEqual([
    'started early, running',
    'started early, done',
    'waited behind `guide`, which is not a `read`',
    'waited for the end of the response: only one slot',
  ])
})

test('the end of a step is that of its last call that counts (DT5)', () => {
  const run = runWith({
    responses: [{ start: 0, end: 100 }],
    calls: [
      { start: 10, end: 500, fate: 'abandoned' },
      { start: 10, end: 120 },
      { start: 10, end: 400, fate: 'discarded' },
    ],
  })
  const [step] = run.steps
  expect(step && timesOf(step, 0)).toEqual({ start: 0, streamEnd: 100, stood: 100, end: 120 })
})

function placed(run: Run, view: View) {
  const { steps, difference } = layoutOf(run, view, 0)
  return { starts: steps[0]?.starts, end: steps[0]?.end, difference }
}
