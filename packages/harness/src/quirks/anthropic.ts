/** Quirks of Anthropic Messages, and of hosts that imitate it. */

import { end, inputDelta, messageDelta, start, stop, text, thinking, toolUse } from './anthropic-events.ts'
import type { Quirk } from './quirk.ts'

const wire = 'anthropic'
const f = { id: 'toolu_a', name: 'f' }
const docs = "Anthropic's streaming documentation"
const shared = 'openclaw#47136, agentty#9, Cyber-AutoAgent-ng#72 (Bedrock)'
const eager = 'anthropic-sdk-python#794, ai-gateway#2585, mcp-use#1888'

export const anthropicQuirks: readonly Quirk[] = [
  {
    id: 'A1',
    wire,
    title: 'pings and unknown events come anywhere',
    source: `${docs}; recorded stream`,
    events: [
      { type: 'ping' },
      start,
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', ...f, input: {} } },
      { type: 'ping' },
      { type: 'a_new_event', index: 0, news: { delta: 'unknown' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"x":' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'ping' },
      ...end('tool_use'),
    ],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' },
  },
  {
    id: 'A2',
    wire,
    title: 'a call without arguments: one delta, and it is empty',
    source: 'recorded stream anthropic-tool-no-args',
    events: [start, ...toolUse(0, f, ''), ...end('tool_use')],
    expected: { calls: [{ ...f, input: {} }], finishReason: 'tool-calls' },
  },
  {
    id: 'A3',
    wire,
    title: 'the start of the block brings the whole input, and no delta comes',
    source: 'gajae-code#1895',
    events: [start, ...toolUse(0, { ...f, input: { x: 1 } }), ...end('tool_use')],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' },
  },
  {
    id: 'A5',
    wire,
    title: 'eager input streaming: arguments cut in a literal, then the stop of the block',
    source: eager,
    events: [start, ...toolUse(0, f, '{"path":"/etc",', '"force":tr'), ...end('tool_use')],
    expected: { calls: [{ ...f, invalid: true }], finishReason: 'tool-calls' },
  },
  {
    id: 'A5',
    wire,
    title: 'eager input streaming: arguments cut in a string, then the stop of the block',
    source: eager,
    events: [start, ...toolUse(0, f, '{"path":', '"/etc/pass'), ...end('tool_use')],
    expected: { calls: [{ ...f, invalid: true }], finishReason: 'tool-calls' },
  },
  {
    id: 'A7',
    wire,
    title: 'the stream ends without message_stop',
    source: `${docs} (order of events)`,
    events: [start, ...text(0, 'Hel', 'lo'), ...toolUse(1, f, '{"x":1}'), messageDelta('tool_use')],
    expected: {
      error: { code: 'stream_truncated', retryable: true },
      text: 'Hello',
      calls: [{ ...f, input: { x: 1 } }],
    },
  },
  {
    id: 'A8',
    wire,
    title: 'calls stand at indexes 1 and 3, after thinking, text between them',
    source: 'as C5',
    events: [
      start,
      ...thinking(0, 'Hm.'),
      ...toolUse(1, f, '{"x":1}'),
      ...text(2, 'And'),
      ...toolUse(3, { id: 'toolu_b', name: 'g' }, '{"y":2}'),
      ...end('tool_use'),
    ],
    expected: {
      reasoning: 'Hm.',
      text: 'And',
      calls: [
        { ...f, input: { x: 1 } },
        { id: 'toolu_b', name: 'g', input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
      parts: ['reasoning', 'call', 'text', 'call'],
    },
  },
  {
    id: 'A8',
    wire,
    title: 'the first block has index 1',
    source: 'as C5',
    events: [start, ...toolUse(1, f, '{"x":1}'), ...end('tool_use')],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' },
  },
  {
    id: 'A9',
    wire,
    title: 'every block has index 0',
    source: 'as C5',
    events: [
      start,
      ...text(0, 'Look'),
      ...toolUse(0, f, '{"x":1}'),
      ...toolUse(0, { id: 'toolu_b', name: 'g' }, '{"y":2}'),
      ...end('tool_use'),
    ],
    expected: {
      text: 'Look',
      calls: [
        { ...f, input: { x: 1 } },
        { id: 'toolu_b', name: 'g', input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'A10',
    wire,
    title: 'the token limit cuts a call before its input: its block stops all the same',
    source: "the official client's tool runner; llama.cpp server-task.cpp",
    events: [start, ...toolUse(0, f), ...end('max_tokens')],
    expected: { calls: [{ ...f, input: {} }], finishReason: 'length' },
  },
  {
    id: 'A10',
    wire,
    title: 'the block of a call stops before its input comes',
    source: 'agentgateway#2147',
    events: [start, ...toolUse(0, f), ...text(1, ''), inputDelta(0, '{"x":'), inputDelta(0, '1}'), ...end('tool_use')],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' },
  },
  {
    id: 'A11',
    wire,
    title: 'a model declines after a whole call, another one goes on',
    source: "Anthropic's documentation of refusals and fallback (beta); senpi#1493",
    events: [
      start,
      ...thinking(0, 'Hm.'),
      ...text(1, 'Look: '),
      ...toolUse(2, f, '{"x":1}'),
      {
        type: 'content_block_start',
        index: 3,
        content_block: { type: 'fallback', from: { model: 'm' }, to: { model: 'n' }, trigger: { type: 'refusal' } },
      },
      stop(3),
      ...toolUse(4, { id: 'toolu_b', name: 'g' }, '{"y":2}'),
      ...end('tool_use'),
    ],
    expected: {
      reasoning: 'Hm.',
      text: 'Look: ',
      calls: [{ id: 'toolu_b', name: 'g', input: { y: 2 } }],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'A12',
    wire,
    title: 'the inputs of three calls come in the block of the first',
    source: 'sglang#39782',
    events: [start, ...toolUse(0, f, '{"x":1}', '{"y":2}', '{"z":3}'), ...end('tool_use')],
    expected: { calls: [{ ...f, invalid: true }], finishReason: 'tool-calls' },
  },
  {
    id: 'A13',
    wire,
    title: 'the block of a call stops twice',
    source: 'litellm#37273 (the tool was run twice)',
    events: [start, ...toolUse(0, f, '{"x":1}'), stop(0), ...end('tool_use')],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' },
  },
  {
    id: 'A14',
    wire,
    title: 'two calls at two indexes share an id',
    source: shared,
    events: [start, ...toolUse(0, f, '{"x":1}'), ...toolUse(1, f, '{"x":2}'), ...end('tool_use')],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { name: 'f', input: { x: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'A14',
    wire,
    title: 'a call of another tool begins at the index of one that has stopped, with its id',
    source: shared,
    events: [start, ...toolUse(0, f, '{"x":1}'), ...toolUse(0, { ...f, name: 'g' }, '{"y":2}'), ...end('tool_use')],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { name: 'g', input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'A15',
    wire,
    title: 'a call starts twice at one index, with one id and under two names, before its input comes',
    source: 'as C47, by a gateway that makes Messages of it',
    events: [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', ...f, input: {} } },
      ...toolUse(0, { ...f, name: 'g' }, '{"y":2}'),
      ...end('tool_use'),
    ],
    expected: { error: { code: 'invalid_chunk', retryable: true }, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A15',
    wire,
    title: 'a call starts under another name at the index of one whose input is whole and whose stop is missing',
    source: 'as A9',
    events: [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', ...f, input: {} } },
      inputDelta(0, '{"x":1}'),
      ...toolUse(0, { ...f, name: 'g' }, '{"y":2}'),
      ...end('tool_use'),
    ],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { name: 'g', input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
]
