import type { AssistantMessage, Message, ToolMessage } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { assertSameTranscript, assertTranscript } from './transcript.ts'

const user: Message = { role: 'user', content: 'Weather?' }
const said: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: 'Sunny.' }], finishReason: 'stop' }
const calls = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool-call', id, name: 'weather', input: {} })),
  finishReason: 'tool-calls',
})
const result = (callId: string): ToolMessage => ({ role: 'tool', callId, name: 'weather', content: [] })

test('each call once, with results in call order, is valid', () => {
  assertTranscript([])
  assertTranscript([user, calls('a', 'b'), result('a'), result('b'), calls('c'), result('c'), said])
})

test('a call that the provider ran needs no result', () => {
  const [part] = calls('a').content
  if (part?.type !== 'tool-call') throw new Error('no call')
  assertTranscript([{ ...said, content: [{ ...part, providerResult: { found: 1 } }] }, user])
})

test.for<[string, Message[]]>([
  ['there is no result of call b before message 2 (assistant)', [calls('a', 'b'), result('a'), said]],
  ['there is no result of call a, b before the end', [user, calls('a', 'b')]],
  [
    'message 1 is the result of call b, but the result of call a was expected',
    [calls('a', 'b'), result('b'), result('a')],
  ],
  ['message 2 is the result of call a, but no call is open', [calls('a'), result('a'), result('a')]],
  ['message 2 has a call a, which an earlier message has, too', [calls('a'), result('a'), calls('a'), result('a')]],
  ['message 0 is the result of call a, but no call is open', [result('a')]],
])('the error message is: %s', ([message, messages]) => {
  expect(() => assertTranscript(messages)).toThrow(expect.objectContaining({ name: 'TranscriptError', message }))
})

test('two transcripts that differ are shown where they differ', () => {
  assertSameTranscript([user, said], [user, { ...said }])
  expect(() => assertSameTranscript([user, { ...said, usage: { outputTokens: 1 } }], [user, said])).toThrow(
    'the transcripts differ:\n  [1].usage: expected nothing, got {"outputTokens":1}',
  )
})
