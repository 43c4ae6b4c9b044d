import { expect, test } from 'vitest'
import { call, cut, end, fail, respond, ScriptError, say, think, wait } from '../testing.ts'

test('text and reasoning are streamed by words, with the white space before them', () => {
  expect(say('Hello big  world\n')).toEqual({ type: 'say', deltas: ['Hello', ' big', '  world', '\n'] })
  expect(think(' Hm, so')).toEqual({ type: 'think', deltas: [' Hm,', ' so'] })
  expect(say('')).toEqual({ type: 'say', deltas: [] })
})

test('the input of a call is written as JSON and streamed in pieces of about four characters', () => {
  expect(call('f', { x: 12, y: [] })).toEqual({ type: 'call', name: 'f', deltas: ['{"x"', ':12,', '"y"', ':[]}'] })
  expect(call('f')).toEqual({ type: 'call', name: 'f', deltas: ['{}'] })
  expect(call('f', {}, { id: 'a' })).toEqual({ type: 'call', name: 'f', deltas: ['{}'], id: 'a' })
})

test('an input that is a string is used as the text', () => {
  expect(call('f', '{"x":')).toEqual({ type: 'call', name: 'f', deltas: ['{"x', '":'] })
  expect(call('f', '')).toEqual({ type: 'call', name: 'f', deltas: [] })
})

test('deltas are a number of pieces or the pieces themselves', () => {
  expect(say('abcdefg', { deltas: 3 })).toEqual({ type: 'say', deltas: ['ab', 'cde', 'fg'] })
  expect(say('ab', { deltas: 5 })).toEqual({ type: 'say', deltas: ['a', 'b'] })
  expect(think('abc', { deltas: ['', 'a', 'bc'] })).toEqual({ type: 'think', deltas: ['', 'a', 'bc'] })
  expect(call('f', { x: 1 }, { deltas: 1 })).toEqual({ type: 'call', name: 'f', deltas: ['{"x":1}'] })
})

test('deltas that lose some of the text are an error', () => {
  expect(() => say('abc', { deltas: ['a', 'b'] })).toThrow(ScriptError)
  expect(() => call('f', { x: 1 }, { deltas: 0 })).toThrow(ScriptError)
  expect(() => say('abc', { deltas: 1.5 })).toThrow(ScriptError)
})

test('a response ends with the usual reason for its steps, or with the given one', () => {
  expect(respond(say('a'))).toEqual({ steps: [say('a')], finishReason: 'stop', usage: {} })
  expect(respond(say('a'), call('f'))).toEqual({ steps: [say('a'), call('f')], finishReason: 'tool-calls', usage: {} })
  expect(respond(call('f'), end({ finishReason: 'length', usage: { outputTokens: 3 } }))).toEqual({
    steps: [call('f')],
    finishReason: 'length',
    usage: { outputTokens: 3 },
  })
  expect(respond(call('f'), end({ usage: { outputTokens: 3 } }))).toMatchObject({ finishReason: 'tool-calls' })
})

test('waiting, failing and cutting are steps', () => {
  expect(wait(20)).toEqual({ type: 'wait', ms: 20 })
  expect(cut()).toEqual({ type: 'cut' })
  expect(fail({ status: 529, code: 'overloaded_error', message: 'busy', retryAfter: 50 })).toEqual({
    type: 'fail',
    status: 529,
    code: 'overloaded_error',
    message: 'busy',
    retryAfter: 50,
  })
  expect(fail()).toMatchObject({ type: 'fail', status: 500, code: 'server_error', message: expect.any(String) })
})

test('a script is JSON', () => {
  const response = respond(think('a'), say('b'), call('f', { x: 1 }), wait(5), fail({ status: 429, retryAfter: 9 }))
  expect(JSON.parse(JSON.stringify(response))).toEqual(response)
})
