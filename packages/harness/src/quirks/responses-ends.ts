/** Quirks of the ends of OpenAI Responses: hosts whose event has another name than its content. */

import type { Quirk } from './quirk.ts'
import { called, said, whole, wire } from './responses-calls.ts'
import {
  completed,
  created,
  incomplete,
  itemAdded,
  itemDone,
  message,
  messageAt,
  messageItem,
} from './responses-events.ts'

const vllm = 'vllm#45386, vllm-project/agentic-api#273, Rapid-MLX#866, apfel#412'
const words = 'as qwen-code#9884'

const at = { output_index: 0, item_id: 'msg_1', content_index: 0 }
const item = whole.item('{"x":1}')
const begun = [created, ...said(whole, '{"x":1}')]

export const responsesEndQuirks: readonly Quirk[] = [
  {
    id: 'R18',
    wire,
    title: 'response.completed contains a response that is incomplete, after a whole call',
    source: vllm,
    events: [...begun, named('response.completed', incomplete('max_output_tokens', item))],
    expected: { ...called, finishReason: 'length' },
  },
  {
    id: 'R18',
    wire,
    title: 'response.completed contains a response that is incomplete, after a text',
    source: vllm,
    events: [
      created,
      ...message('Once ', 'upon'),
      named('response.completed', incomplete('max_output_tokens', messageItem('Once upon'))),
    ],
    expected: { text: 'Once upon', calls: [], finishReason: 'length' },
  },
  {
    id: 'R18',
    wire,
    title: 'response.completed contains a response that is incomplete, and everything else',
    source: vllm,
    events: [created, named('response.completed', incomplete('max_output_tokens', item))],
    expected: { ...called, finishReason: 'length' },
  },
  {
    id: 'R18',
    wire,
    title: 'response.completed contains a response that failed',
    source: `as ${vllm}`,
    events: [...begun, withStatus('response.completed', 'failed')],
    expected: { error: { retryable: false }, calls: called.calls },
  },
  {
    id: 'R18',
    wire,
    title: 'response.done contains a response that was cancelled',
    source: `as ${vllm}`,
    events: [...begun, withStatus('response.done', 'cancelled')],
    expected: { error: { retryable: false }, calls: called.calls },
  },
  ...['max_tokens', 'MAX_TOKENS', 'length', 'max_prompt_tokens'].map(
    (reason): Quirk => ({
      id: 'R18',
      wire,
      title: `an incomplete response has the reason ${reason}`,
      source: words,
      events: [...begun, incomplete(reason, item)],
      expected: { ...called, finishReason: 'length' },
    }),
  ),
  ...['response.completed', 'response.done', 'response.requires_action', 'response.incomplete'].map(
    (name): Quirk => ({
      id: 'R18',
      wire,
      title: `${name} contains a response that requires an action`,
      source: 'the Assistants API and gateways of it',
      events: [...begun, withStatus(name, 'requires_action')],
      expected: called,
    }),
  ),
  {
    id: 'R26',
    wire,
    title: 'a call was cut off before its arguments, in a response that is complete',
    source: `as ${vllm}`,
    events: [created, whole.added, whole.itemDone('', 'incomplete'), completed(whole.item('', 'incomplete'))],
    expected: { error: { code: 'invalid_chunk', retryable: true } },
  },
  ...(
    [
      ['only in its end', []],
      [
        'only in its part',
        [{ type: 'response.content_part.done', ...at, part: { type: 'output_text', text: 'Hello' } }],
      ],
    ] as const
  ).map(
    ([place, between]): Quirk => ({
      id: 'R27',
      wire,
      title: `a message begins empty, and its text is ${place}`,
      source: 'as R10',
      events: [
        created,
        itemAdded(0, { id: 'msg_1', type: 'message', role: 'assistant', content: [] }),
        ...between,
        completed(messageItem('Hello')),
      ],
      expected: { text: 'Hello', calls: [], finishReason: 'stop' },
    }),
  ),
  {
    id: 'R27',
    wire,
    title: 'a call is streamed, and the text before it is only in the end',
    source: 'as R10',
    events: [...begun, completed(messageItem('Hello'), item)],
    expected: { ...called, text: 'Hello' },
  },
  {
    id: 'R29',
    wire,
    title: 'a call comes with its result, because the host has run it',
    source: 'hermes-agent#81693',
    events: [
      ...begun,
      itemDone(1, { id: 'fco_1', type: 'function_call_output', call_id: 'call_a', output: 'ok', status: 'completed' }),
      ...messageAt(2, 'Done.'),
      completed(),
    ],
    expected: { text: 'Done.', calls: [], finishReason: 'stop' },
  },
  {
    id: 'R29',
    wire,
    title: 'the end of the response contains a call and its result, because the host has run it',
    source: 'as R29',
    events: [
      created,
      completed(item, { type: 'function_call_output', call_id: 'call_a', output: 'ok' }, messageItem('Hi')),
    ],
    expected: { text: 'Hi', calls: [], finishReason: 'stop' },
  },
  {
    id: 'R28',
    wire,
    title: 'the response is not streamed: it is the whole body',
    source: 'as T12',
    events: [`${JSON.stringify(responseOf('completed', [messageItem('Hello'), item]), null, 2)}\n`],
    expected: { ...called, text: 'Hello' },
  },
  {
    id: 'R28',
    wire,
    title: 'the response is not streamed, and incomplete: it is the whole body',
    source: 'as T12',
    events: [`${JSON.stringify({ ...responseOf('incomplete', [item]), incomplete_details: { reason: 'length' } })}\n`],
    expected: { ...called, finishReason: 'length' },
  },
  {
    id: 'R23',
    wire,
    title: 'the response requires an action, and contains a text but no call',
    source: 'as A22',
    events: [created, ...message('Let me look.'), withStatus('response.completed', 'requires_action', [])],
    expected: { error: { code: 'missing_calls', retryable: true }, text: 'Let me look.', calls: [] },
  },
]

/** The event under another name. */
function named(type: string, event: object): object {
  return { ...event, type }
}

function withStatus(type: string, status: string, output: readonly object[] = [item]): object {
  return { type, response: responseOf(status, output) }
}

function responseOf(status: string, output: readonly object[]): object {
  return { id: 'resp_1', object: 'response', model: 'm', status, output }
}
