/** Quirks of hosts that imitate OpenAI Responses: items that cannot be distinguished, and missing events. */

import type { Outcome, Quirk } from './quirk.ts'
import {
  type CallEvents,
  call,
  completed,
  created,
  incomplete,
  itemAdded,
  itemDone,
  message,
  messageAt,
  messageItem,
  textDelta,
  textDone,
} from './responses-events.ts'

const wire = 'openai-responses'
const f = { id: 'call_a', name: 'f' }
const called: Outcome = { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' }

const whole = call(0, 'call_a', 'f', 'fc_1')
const second = call(1, 'call_b', 'g', 'fc_2')
const bare = call(undefined, 'call_a', 'f')
const bareSecond = call(undefined, 'call_b', 'g')
const sameId = call(1, 'call_a', 'f', 'fc_2')
const otherName = call(0, 'call_a', 'g', 'fc_1')
const shared = 'openclaw#47136, agentty#9, hermes-agent#111443, mnfst/llm-gateway#2858'
const search = {
  id: 'ctc_1',
  type: 'custom_tool_call',
  call_id: 'xs_call_1',
  name: 'x_keyword_search',
  input: '{"query":"x"}',
  status: 'completed',
}
const calledBoth: Outcome = {
  calls: [
    { ...f, input: { x: 1 } },
    { id: 'call_b', name: 'g', input: { y: 2 } },
  ],
  finishReason: 'tool-calls',
}

const calledTwice: Outcome = {
  calls: [
    { ...f, input: { x: 1 } },
    { name: 'f', input: { x: 2 } },
  ],
  finishReason: 'tool-calls',
}

export const responsesHostQuirks: readonly Quirk[] = [
  {
    id: 'R7',
    wire,
    title: 'no item has an id or a place, and all of them are done at the end',
    source: 'oh-my-pi#1880, #2016 (llama.cpp server-task.cpp)',
    events: [
      created,
      bare.added,
      { ...bare.delta('{"x":'), item_id: 'call_a' },
      { ...bare.delta('1}'), item_id: 'call_a' },
      bareSecond.added,
      { ...bareSecond.delta('{"y":2}'), item_id: 'call_b' },
      bare.itemDone('{"x":1}'),
      bareSecond.itemDone('{"y":2}'),
      completed(bare.item('{"x":1}'), bareSecond.item('{"y":2}')),
    ],
    expected: calledBoth,
  },
  {
    id: 'R7',
    wire,
    title: 'nothing identifies the calls that the ends of the arguments belong to',
    source: 'oh-my-pi#1970, #1971 (llama.cpp)',
    events: [
      created,
      whole.added,
      second.added,
      bare.done('{"x":1}'),
      bareSecond.done('{"y":2}'),
      whole.itemDone(''),
      second.itemDone(''),
      completed(whole.item(''), second.item('')),
    ],
    expected: calledBoth,
  },
  {
    id: 'R7',
    wire,
    title: 'a call and the text after it have one place in the output',
    source: 'freellmapi#846, open-responses-server#63',
    events: [
      created,
      whole.added,
      whole.delta('{"x":1}'),
      ...message('Wait.'),
      whole.done('{"x":1}'),
      whole.itemDone('{"x":1}'),
      completed(whole.item('{"x":1}'), messageItem('Wait.')),
    ],
    expected: { ...called, text: 'Wait.' },
  },
  {
    id: 'R8',
    wire,
    title: 'the token limit cuts a call before its arguments, but they are reported as done',
    source: 'as A10',
    events: [
      created,
      whole.added,
      whole.done(''),
      whole.itemDone('', 'incomplete'),
      incomplete('max_output_tokens', whole.item('', 'incomplete')),
    ],
    expected: { calls: [{ ...f, input: {} }], finishReason: 'length' },
  },
  {
    id: 'R9',
    wire,
    title: 'items have no status, and no deltas come',
    source: 'CLIProxyAPI#5851, vllm#46945, praxis-proxy/ai#955',
    events: [
      created,
      whole.added,
      { type: 'response.output_item.done', output_index: 0, item: { ...whole.item('{"x":1}'), status: null } },
      completed({ ...whole.item('{"x":1}'), status: null }),
    ],
    expected: called,
  },
  {
    id: 'R10',
    wire,
    title: 'the text comes only when it is done',
    source: 'gemini-web2api#57',
    events: [created, textDone('Hello'), completed(messageItem('Hello'))],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'R10',
    wire,
    title: 'everything comes with the end of the response',
    source: 'Switchyard#777',
    events: [created, completed(messageItem('Hello'), whole.item('{"x":1}'))],
    expected: { ...called, text: 'Hello' },
  },
  {
    id: 'R10',
    wire,
    title: 'text goes on after it was done',
    source: 'OmniRoute#13693',
    events: [created, textDelta('Hel'), textDone('Hel'), textDelta('lo'), completed(messageItem('Hello'))],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'R10',
    wire,
    title: 'the arguments come with the beginning of the call only',
    source: 'openclaude#1262, kwwk#12',
    events: [
      created,
      { type: 'response.output_item.added', output_index: 0, item: whole.item('{"x":1}', 'in_progress') },
      whole.itemDone(''),
      completed(),
    ],
    expected: called,
  },
  {
    id: 'R11',
    wire,
    title: 'the finished item has {} for the arguments that came in pieces',
    source: 'llm-interactive-proxy test_executor_streaming.py (Codex over WebSocket)',
    events: [created, whole.added, whole.delta('{"x":'), whole.delta('1}'), whole.itemDone('{}'), completed()],
    expected: called,
  },
  {
    id: 'R12',
    wire,
    title: 'the response ends with response.done',
    source: 'oh-my-pi#4692, 9router#2142',
    events: [
      created,
      whole.added,
      whole.delta('{"x":1}'),
      whole.itemDone('{"x":1}'),
      { ...completed(whole.item('{"x":1}')), type: 'response.done' },
    ],
    expected: called,
  },
  {
    id: 'R12',
    wire,
    title: 'the response ends with response.done, and is incomplete',
    source: 'oh-my-pi#4692, 9router#2142',
    events: [
      created,
      whole.added,
      whole.delta('{"x":1}'),
      whole.itemDone('{"x":1}'),
      { ...incomplete('max_output_tokens', whole.item('{"x":1}')), type: 'response.done' },
    ],
    expected: { ...called, finishReason: 'length' },
  },
  {
    id: 'R15',
    wire,
    title: 'two calls at two places, each with its own item id, share a call_id',
    source: shared,
    events: [
      created,
      ...said(whole, '{"x":1}'),
      ...said(sameId, '{"x":2}'),
      completed(whole.item('{"x":1}'), sameId.item('{"x":2}')),
    ],
    expected: calledTwice,
  },
  {
    id: 'R15',
    wire,
    title: 'two calls at two places share a call_id, and their items come whole',
    source: shared,
    events: [created, whole.itemDone('{"x":1}'), sameId.itemDone('{"x":2}'), completed()],
    expected: calledTwice,
  },
  {
    id: 'R15',
    wire,
    title: 'two calls at two places share a call_id, and come with the end of the response',
    source: shared,
    events: [created, completed(whole.item('{"x":1}'), sameId.item('{"x":2}'))],
    expected: calledTwice,
  },
  {
    id: 'R15',
    wire,
    title: 'a call of another tool begins at the place of one that has ended, with its ids',
    source: shared,
    events: [created, ...said(whole, '{"x":1}'), ...said(otherName, '{"y":2}'), completed()],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { name: 'g', input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'R16',
    wire,
    title: 'two calls at two places share a call_id, and the second begins before the first has ended',
    source: shared,
    events: [
      created,
      whole.added,
      sameId.added,
      whole.delta('{"x":'),
      sameId.delta('{"x":2}'),
      sameId.done('{"x":2}'),
      whole.delta('1}'),
      whole.done('{"x":1}'),
      whole.itemDone('{"x":1}'),
      sameId.itemDone('{"x":2}'),
      completed(whole.item('{"x":1}'), sameId.item('{"x":2}')),
    ],
    expected: calledTwice,
  },
  {
    id: 'R16',
    wire,
    title: 'a call comes once more at another place, with another item id, before it has ended',
    source: 'as R3, R7',
    events: [
      created,
      whole.added,
      sameId.added,
      whole.delta('{"x":1}'),
      sameId.delta('{ "x": 1 }'),
      sameId.done('{ "x": 1 }'),
      sameId.itemDone('{ "x": 1 }'),
      whole.done('{"x":1}'),
      whole.itemDone('{"x":1}'),
      completed(whole.item('{"x":1}')),
    ],
    expected: called,
  },
  {
    id: 'R17',
    wire,
    title: 'the end of the response has another call at the place of one that was streamed',
    source: 'as T14, T18',
    events: [created, ...said(whole, '{"x":1}'), completed(second.item('{"y":2}'))],
    expected: { error: { code: 'invalid_chunk', retryable: true }, calls: [{ ...f, input: { x: 1 } }] },
  },
  {
    id: 'R17',
    wire,
    title: 'the end of the response has other arguments for a call that was streamed',
    source: 'as T14, T18',
    events: [created, ...said(whole, '{"x":1}'), completed(whole.item('{"x":2}'))],
    expected: { error: { code: 'invalid_chunk', retryable: true }, calls: [{ ...f, input: { x: 1 } }] },
  },
  {
    id: 'R17',
    wire,
    title: 'the end of the response has other ids for its calls',
    source: 'vllm#47916, onyx#13624',
    events: [created, ...said(whole, '{"x":1}'), completed(call(0, 'call_z', 'f', 'fc_9').item('{ "x": 1 }'))],
    expected: called,
  },
  {
    id: 'R17',
    wire,
    title: 'the end of the response has one more call, which no event contained',
    source: 'as R10',
    events: [created, ...said(whole, '{"x":1}'), completed(whole.item('{"x":1}'), second.item('{"y":2}'))],
    expected: calledBoth,
  },
  {
    id: 'R14',
    wire,
    title: 'the search of X comes as calls of a custom tool, which have already run',
    source: 'vercel/ai#9896 (xAI)',
    events: [
      created,
      itemAdded(0, { ...search, input: '', status: 'in_progress' }),
      itemDone(0, search),
      ...messageAt(1, 'Found.'),
      completed(search, messageItem('Found.')),
    ],
    expected: { text: 'Found.', calls: [], finishReason: 'stop' },
  },
]

/** A whole call, as OpenAI's own API sends it. */
function said({ added, delta, done, itemDone }: CallEvents, text: string): readonly object[] {
  return [added, delta(text), done(text), itemDone(text)]
}
