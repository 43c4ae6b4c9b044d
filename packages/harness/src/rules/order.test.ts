import { expect, test } from 'vitest'
import type { WireName } from '../wires/wire-name.ts'
import { refusals } from './refusals.ts'

const user = { role: 'user', content: 'Hi' }

const call = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
const calls = (...ids: string[]): object => ({ role: 'assistant', content: null, tool_calls: ids.map(call) })
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'x' })

const uses = (...ids: string[]): object => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
})
const text = { type: 'text', text: 'Hurry.' }
const used = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'x' })
const says = (...content: object[]): object => ({ role: 'user', content })

const item = (id: string): object => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
const output = (id: string): object => ({ type: 'function_call_output', call_id: id, output: 'x' })

const NO_RESULT = 'chat/call-without-result'
const NO_CALL = 'chat/result-without-call'

/** The rules that a history breaks. */
function broken(wire: WireName, history: readonly object[]): string[] {
  const body =
    wire === 'openai-responses'
      ? { model: 'm', input: history }
      : { model: 'm', messages: history, ...(wire === 'anthropic' && { max_tokens: 9 }) }
  return refusals(wire, body).map(({ rule }) => rule)
}

test.for<[string, object[], string[]]>([
  ['results in another order', [user, calls('a', 'b'), result('b'), result('a')], []],
  ['a user message after the last result', [user, calls('a'), result('a'), user], []],
  ['a user message before the result', [user, calls('a'), user, result('a')], [NO_RESULT, NO_CALL]],
  ['a user message between results', [user, calls('a', 'b'), result('a'), user, result('b')], [NO_RESULT, NO_CALL]],
  ['another answer before the result', [user, calls('a'), calls('b'), result('b'), result('a')], [NO_RESULT, NO_CALL]],
  ['a call at the end', [user, calls('a')], [NO_RESULT]],
  ['ids that repeat in the next turn', [user, calls('a'), result('a'), calls('a'), result('a')], []],
  ['a result of an earlier turn again', [user, calls('a'), result('a'), user, result('a')], [NO_CALL]],
])('on Chat: %s (W13, W23)', ([, history, rules]) => {
  expect(broken('openai-chat', history)).toEqual(rules)
})

const USE = 'messages/use-without-result'
const LOST = 'messages/result-without-use'

test.for<[string, object[], string[]]>([
  ['results in another order', [user, uses('a', 'b'), says(used('b'), used('a'))], []],
  ['text after the results', [user, uses('a'), says(used('a'), text)], []],
  ['text before a result', [user, uses('a'), says(text, used('a'))], [USE]],
  ['text between results', [user, uses('a', 'b'), says(used('a'), text, used('b'))], [USE]],
  ['a user message before the results', [user, uses('a'), user, says(used('a'))], [USE, LOST]],
  ['results in two messages', [user, uses('a', 'b'), says(used('a')), says(used('b'))], [USE, LOST]],
  ['a use at the end', [user, uses('a')], [USE]],
  [
    'ids that repeat in the next turn',
    [user, uses('a'), says(used('a')), uses('a'), says(used('a'))],
    ['messages/use-id-twice'],
  ],
])('on Messages: %s (W13, W23)', ([, history, rules]) => {
  expect(broken('anthropic', history)).toEqual(rules)
})

test.for<[string, object[], string[]]>([
  ['a user message between a call and its output', [user, item('a'), user, output('a')], []],
  [
    'an output before its call',
    [user, output('a'), item('a')],
    ['responses/output-without-call', 'responses/call-without-output'],
  ],
  ['a call at the end', [user, item('a')], ['responses/call-without-output']],
])('on Responses: %s (W13, W23)', ([, history, rules]) => {
  expect(broken('openai-responses', history)).toEqual(rules)
})
