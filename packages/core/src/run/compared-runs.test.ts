import { collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { difference } from '../../test/compare/difference.ts'
import { type Timed, type Trace, type TracedEvent, traceOf } from '../../test/compare/trace.ts'
import { createAgent } from '../index.ts'

// Defines what two cores may do differently and still count as equal, as `npm run compare-cores` uses it.

const start = (callId: string): TracedEvent => ({
  runId: 'run',
  step: 1,
  type: 'tool-start',
  callId,
  toolName: 'look',
  call: { type: 'tool-call', id: callId, name: 'look', input: {} },
})
const committed = (callId: string): TracedEvent => ({
  runId: 'run',
  step: 1,
  type: 'tool-committed',
  callId,
  toolName: 'look',
})
const asked = (id: string): TracedEvent => ({
  runId: 'run',
  step: 1,
  attempt: 1,
  type: 'tool-call',
  call: { type: 'tool-call', id, name: 'look', input: {} },
})
const failed: TracedEvent = { runId: 'run', step: 1, attempt: 1, type: 'attempt-failed', error: 'cut', next: 'retry' }
const stepStart: TracedEvent = { runId: 'run', step: 1, type: 'step-start' }
const nested: TracedEvent = { runId: 'run in a', type: 'run-start', path: [{ agent: 'child', callId: 'a' }] }

function traced(...events: readonly Timed<TracedEvent>[]): Trace {
  return { lives: [{ events, end: { status: 'completed' } }], deeds: [] }
}

const at = (ms: number, ...events: readonly TracedEvent[]) => events.map((event): Timed<TracedEvent> => [ms, event])

test.each<[string, readonly TracedEvent[]]>([
  ['events of two calls', [start('a'), start('b')]],
  ['an event of a call and a piece of the response that requests another', [start('a'), asked('b')]],
  ['events of a call and of a run inside another one', [nested, start('b')]],
])('%s may change places in one turn, and in no other', (_, events) => {
  const back = events.toReversed()
  expect(difference(traced(...at(5, ...events)), traced(...at(5, ...back)))).toBeUndefined()
  const [first, second] = events as readonly [TracedEvent, TracedEvent]
  const apart = traced(...at(5, first), ...at(6, second))
  expect(difference(apart, traced(...at(5, second), ...at(6, first)))?.what).toBe('events')
  expect(difference(apart, traced(...at(5, first, second)))?.what).toBe('events')
})

test.each<[string, readonly TracedEvent[]]>([
  ['two events of a call', [start('a'), committed('a')]],
  ['a call and the event that requests it', [asked('a'), start('a')]],
  ['a call and the end of an attempt', [failed, committed('a')]],
  ['a call and the beginning of its step', [stepStart, start('a')]],
  ['a call and the run inside it', [start('a'), nested]],
  ['a call and its inner call', [start('a'), start('part of a')]],
  [
    'a call that continues with another id, and its end',
    [{ ...committed('b'), startedAs: 'a' } as TracedEvent, start('b')],
  ],
  ['pieces of a response', [asked('a'), asked('b')]],
])('%s may not change places', (_, events) => {
  const found = difference(traced(...at(5, ...events)), traced(...at(5, ...events.toReversed())))
  expect(found).toMatchObject({ what: 'events', text: expect.stringContaining('at 5 ms: the present core has') })
})

test('a missing event, an additional one, and one with other contents are differences', () => {
  const both = traced(...at(5, start('a'), start('b')))
  const one = traced(...at(5, start('a')))
  expect(difference(both, one)?.text).toContain('the present core has no')
  expect(difference(one, both)?.text).toContain('only the present core has')
  expect(
    difference(traced(...at(5, failed)), traced(...at(5, { ...failed, next: 'none' } as TracedEvent))),
  ).toBeDefined()
})

test('results, checkpoints, how a play ends, and what tools did are compared, too', () => {
  const life = { events: [], end: { status: 'cancelled' }, checkpoint: { steps: 1 } }
  const trace: Trace = { lives: [life], deeds: [[1, { did: 'look starts', callId: 'a', about: 1 }]] }
  const what = (present: Trace) => difference(trace, present)?.what
  expect(what(trace)).toBeUndefined()
  expect(what({ ...trace, lives: [{ ...life, end: { status: 'completed' } }] })).toBe('result')
  expect(what({ ...trace, lives: [{ ...life, checkpoint: { steps: 2 } }] })).toBe('checkpoint')
  expect(what({ ...trace, lives: [life, life] })).toBe('count of runs')
  expect(what({ ...trace, left: 'it hangs' })).toBe('end of the play')
  expect(what({ ...trace, deeds: [[1, { did: 'look starts', callId: 'a', about: 2 }]] })).toBe('executions')
  expect(what({ ...trace, deeds: [[2, { did: 'look starts', callId: 'a', about: 1 }]] })).toBe('executions')
})

test('a trace names runs after the calls that lead to them, and has no result in its events', async () => {
  const read = await collect(createAgent({ model: scriptedModel([respond(say('Done'))]) }).stream('Go'))
  const life = { ...read, times: read.events.map(() => 7) }
  const lives = (async function* () {
    yield life
  })()
  const trace = JSON.parse(await traceOf(lives, [])) as Trace
  expect(trace.lives[0]?.events.map(([ms, { runId, type }]) => [ms, runId, type]).slice(0, 2)).toEqual([
    [7, 'run', 'run-start'],
    [7, 'run', 'step-start'],
  ])
  expect(trace.lives[0]?.events.at(-1)?.[1]).not.toHaveProperty('result')
  expect(trace.lives[0]?.end).toMatchObject({ status: 'completed', text: 'Done' })
})
