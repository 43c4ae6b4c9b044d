import { expect, test } from 'vitest'
import { beats, call, cut, end, fail, respond, say, think, wait } from '../testing.ts'

const PACE = { firstToken: 100, betweenTokens: 10 }

test('deltas, starts of calls and deltas of arguments are a token each, and ends are due with the one before', () => {
  const response = respond(
    think('Hm'),
    say('a b'),
    call('f', '{"x":1}', { deltas: 2 }),
    call('g', ''),
    end({ usage: { outputTokens: 6 } }),
  )
  expect(beats(response, PACE)).toEqual([
    { at: 100, type: 'reasoning', delta: 'Hm' },
    { at: 110, type: 'text', delta: 'a' },
    { at: 120, type: 'text', delta: ' b' },
    { at: 130, type: 'call-start', index: 0, id: 'call_1', name: 'f' },
    { at: 140, type: 'call-delta', index: 0, delta: '{"x"' },
    { at: 150, type: 'call-delta', index: 0, delta: ':1}' },
    { at: 150, type: 'call-end', index: 0 },
    { at: 160, type: 'call-start', index: 1, id: 'call_2', name: 'g' },
    { at: 160, type: 'call-end', index: 1 },
    { at: 160, type: 'end', finishReason: 'tool-calls', usage: { outputTokens: 6 } },
  ])
})

test('a wait makes everything after it due later', () => {
  expect(beats(respond(wait(1), say('a'), wait(1_000), say('b'), wait(500)), PACE).map((beat) => beat.at)).toEqual([
    101, 1_111, 1_611,
  ])
})

test('a failure or a cut is the last beat', () => {
  const failure = { type: 'fail', status: 503, code: 'busy', message: 'busy' }
  expect(beats(respond(fail({ status: 503, code: 'busy', message: 'busy' }), say('a')), PACE)).toEqual([
    { ...failure, at: 0 },
  ])
  expect(beats(respond(say('a'), cut(), say('b')), PACE)).toEqual([
    { at: 100, type: 'text', delta: 'a' },
    { at: 100, type: 'cut' },
  ])
})

test('calls without an id get one with the given prefix', () => {
  const response = respond(call('f'), call('g', {}, { id: 'mine' }), call('h'))
  const ids = (schedule: ReturnType<typeof beats>) => schedule.flatMap((beat) => ('id' in beat ? [beat.id] : []))
  expect(ids(beats(response))).toEqual(['call_1', 'mine', 'call_3'])
  expect(ids(beats(response, PACE, 'call_7'))).toEqual(['call_7_1', 'mine', 'call_7_3'])
})

test('without a pace everything is due at once', () => {
  expect(new Set(beats(respond(say('a b c'), call('f'))).map((beat) => beat.at))).toEqual(new Set([0]))
})
