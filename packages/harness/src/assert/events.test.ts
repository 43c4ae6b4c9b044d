import { expect, test } from 'vitest'
import { assertBefore, assertBetween, assertInOrder } from './events.ts'

const events = [
  { type: 'run-start' },
  { type: 'tool-start', callId: 'a' },
  { type: 'text-delta', delta: 'Let me' },
  { type: 'tool-end', callId: 'a' },
  { type: 'tool-start', callId: 'b' },
  { type: 'run-end' },
] as const

const all = ['\n  0: run-start\n  1: tool-start\n  2: text-delta\n  3: tool-end\n  4: tool-start\n  5: run-end'].join(
  '',
)

test('events in their order pass, whatever is between them', () => {
  assertInOrder(events, ['run-start', { type: 'tool-start', callId: 'b' }, (event) => event.type === 'run-end'])
  assertInOrder(events, ['tool-start', 'tool-start'])
  assertInOrder(events, [])
})

test('an event that does not come after the previous one is named, with a list of all events', () => {
  expect(() => assertInOrder(events, ['tool-end', { type: 'text-delta', delta: /me/ }])).toThrow(
    expect.objectContaining({
      name: 'EventOrderError',
      message: `no {"type":"text-delta","delta":"/me/"} after tool-end (event 3); the events were:${all}`,
    }),
  )
  expect(() => assertInOrder([], ['run-start'])).toThrow('no run-start; there were no events')
})

test('one event comes before another: the first of each counts', () => {
  assertBefore(events, 'tool-start', 'text-delta')
  expect(() => assertBefore(events, 'tool-end', 'tool-start')).toThrow(
    'tool-end (event 3) did not come before tool-start (event 1)',
  )
  expect(() => assertBefore(events, 'tool-end', 'warning')).toThrow('no warning')
  expect(() => assertBefore(events, 'warning', 'tool-end')).toThrow('no warning')
})

test('all events of a kind come between two others, and there is at least one', () => {
  assertBetween(events, 'tool-start', 'run-start', 'run-end')
  expect(() => assertBetween(events, 'tool-start', 'run-start', 'tool-end')).toThrow(
    'tool-start (event 4) did not come between run-start (event 0) and tool-end (event 3)',
  )
  expect(() => assertBetween(events, 'warning', 'run-start', 'run-end')).toThrow('no warning')
})
