/** Quirks of hosts that imitate Anthropic Messages: inputs at other indexes, calls sent twice, other words and shapes. */

import { end, inputDelta, messageDelta, messageStop, start, stop, text, toolUse } from './anthropic-events.ts'
import type { Answered, Quirk } from './quirk.ts'

const wire = 'anthropic'
const f = { id: 'toolu_a', name: 'f' }
const g = { id: 'toolu_b', name: 'g' }
const called: Answered = { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' }
const error = { code: 'invalid_chunk', retryable: true }

const inputText = 'nielspeter/claude-code-proxy#13'
const strays = 'pipecat#4688 (kind)'
const twice = 'as LocalAI#9722'
const shapes = 'as llama.cpp#22960, #20090'

const WORDS = [
  ['tool_calls', 'tool-calls'],
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
] as const

export const anthropicHostQuirks: readonly Quirk[] = [
  {
    id: 'A16',
    wire,
    title: 'the start of the block has the whole input as JSON text, and no delta comes',
    source: inputText,
    events: [start, begin(0, { ...f, input: '{"x":1}' }), stop(0), ...end('tool_use')],
    expected: called,
  },
  {
    id: 'A16',
    wire,
    title: 'the start of the block has the whole input as JSON text, deltas repeat it, and the stop is missing',
    source: inputText,
    events: [
      start,
      begin(0, { ...f, input: '{"x":1}' }),
      inputDelta(0, '{ "x":'),
      inputDelta(0, ' 1 }'),
      ...end('tool_use'),
    ],
    expected: called,
  },
  {
    id: 'A16',
    wire,
    title: 'the start of the block has the beginning of the input as JSON text',
    source: inputText,
    events: [start, begin(0, { ...f, input: '{"x":' }), inputDelta(0, '1}'), stop(0), ...end('tool_use')],
    expected: called,
  },
  {
    id: 'A16',
    wire,
    title: 'the start of the block has another input as JSON text than the deltas',
    source: inputText,
    events: [start, begin(0, { ...f, input: '{"x":1}' }), inputDelta(0, '{"x":2}'), stop(0), ...end('tool_use')],
    expected: { error, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A17',
    wire,
    title: 'the input of the only open call comes at an index at which no block started',
    source: strays,
    events: [start, ...text(0, 'Hm.'), begin(1, f), inputDelta(2, '{"x":1}'), stop(1), ...end('tool_use')],
    expected: { ...called, text: 'Hm.' },
  },
  {
    id: 'A17',
    wire,
    title: 'each piece of the input has the next index',
    source: 'as dirac#215',
    events: [
      start,
      begin(0, f),
      inputDelta(0, '{"x"'),
      inputDelta(1, ':'),
      inputDelta(2, '1}'),
      stop(0),
      ...end('tool_use'),
    ],
    expected: called,
  },
  {
    id: 'A17',
    wire,
    title: 'an input comes at an index at which no block started, after a call without input has stopped',
    source: strays,
    events: [start, ...toolUse(0, f), inputDelta(1, '{"x":1}'), stop(1), ...end('tool_use')],
    expected: { error, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A17',
    wire,
    title: 'an input comes at an index at which no block started, while two calls are open',
    source: strays,
    events: [start, begin(0, f), begin(1, g), inputDelta(2, '{"x":1}'), stop(0), stop(1), ...end('tool_use')],
    expected: {
      error,
      calls: [
        { ...f, input: {} },
        { ...g, input: {} },
      ],
    },
  },
  {
    id: 'A17',
    wire,
    title: 'two calls start, and their inputs come at the next index each',
    source: strays,
    events: [
      start,
      begin(0, f),
      begin(1, g),
      inputDelta(1, '{"x":1}'),
      inputDelta(2, '{"y":2}'),
      stop(0),
      stop(1),
      ...end('tool_use'),
    ],
    expected: {
      error,
      calls: [
        { ...f, input: {} },
        { ...g, input: { x: 1 } },
      ],
    },
  },
  {
    id: 'A17',
    wire,
    title: 'an input comes before its call starts, while another call is open',
    source: strays,
    events: [start, begin(0, f), inputDelta(1, '{"y":2}'), begin(1, g), stop(0), stop(1), ...end('tool_use')],
    expected: { error, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A17',
    wire,
    title: 'an input comes at the index of a text',
    source: strays,
    events: [start, ...text(0, 'Hm.'), begin(1, f), inputDelta(0, '{"x":1}'), stop(1), ...end('tool_use')],
    expected: { error, text: 'Hm.', calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A17',
    wire,
    title: 'a further input comes for a call that has stopped',
    source: strays,
    events: [start, ...toolUse(0, f, '{"x":1}'), inputDelta(0, '{"x":2}'), ...end('tool_use')],
    expected: { error, calls: called.calls },
  },
  {
    id: 'A17',
    wire,
    title: 'two calls of one tool start at one index before the input of the first',
    source: 'as OmniRoute#11144',
    events: [
      start,
      begin(0, f),
      begin(0, { ...f, id: 'toolu_b' }),
      inputDelta(0, '{"x":1}'),
      inputDelta(1, '{"x":2}'),
      ...end('tool_use'),
    ],
    expected: { error, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'A18',
    wire,
    title: 'a call comes again at the next index, with its id and its input',
    source: twice,
    events: [start, ...toolUse(0, f, '{"x":1}'), ...toolUse(1, f, '{ "x":', ' 1 }'), ...end('tool_use')],
    expected: called,
  },
  {
    id: 'A18',
    wire,
    title: 'a call without input stops, and comes whole at the next index with its id',
    source: twice,
    events: [start, ...toolUse(0, f), ...toolUse(1, f, '{"x":1}'), ...end('tool_use')],
    expected: called,
  },
  {
    id: 'A18',
    wire,
    title: 'a call stops inside its input, and comes whole at the next index with its id',
    source: twice,
    events: [start, ...toolUse(0, f, '{"x":'), ...toolUse(1, f, '{"x":', '1}'), ...end('tool_use')],
    expected: called,
  },
  {
    id: 'A18',
    wire,
    title: 'two equal calls have the id "null"',
    source: 'zed#53605 (kind)',
    events: [
      start,
      ...toolUse(0, { id: 'null', name: 'f' }, '{"x":1}'),
      ...toolUse(1, { id: 'null', name: 'f' }, '{"x":1}'),
      ...end('tool_use'),
    ],
    expected: {
      calls: [
        { name: 'f', input: { x: 1 } },
        { name: 'f', input: { x: 1 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'A19',
    wire,
    title: 'the stop reason comes twice: max_tokens, then tool_use',
    source: 'as anthropic-sdk-python#1940',
    events: [start, ...toolUse(0, f, '{"x":1}'), messageDelta('max_tokens'), ...end('tool_use')],
    expected: { ...called, finishReason: 'length' },
  },
  ...WORDS.map(
    ([word, finishReason]): Quirk => ({
      id: 'A20',
      wire,
      title: `the stop reason is ${word}`,
      source: 'as qwen-code#9884',
      events: [start, ...toolUse(0, f, '{"x":1}'), ...end(word)],
      expected: { ...called, finishReason },
    }),
  ),
  {
    id: 'A20',
    wire,
    title: 'the stop reason is SAFETY',
    source: 'as qwen-code#9884',
    events: [start, ...text(0, 'I will'), ...end('SAFETY')],
    expected: { text: 'I will', calls: [], finishReason: 'content-filter' },
  },
  {
    id: 'A21',
    wire,
    title: 'the starts of a text and of thinking have no content',
    source: shapes,
    events: [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
      stop(0),
      { type: 'content_block_start', index: 1, content_block: { type: 'text' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello' } },
      stop(1),
      ...end('end_turn'),
    ],
    expected: { reasoning: 'Hm.', text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'A21',
    wire,
    title: 'message_delta comes again, with token counts only',
    source: 'agent-os#1854, anthropic-sdk-python#1940',
    events: [
      start,
      ...toolUse(0, f, '{"x":1}'),
      messageDelta('tool_use'),
      { type: 'message_delta', usage: { output_tokens: 13 } },
      messageStop,
    ],
    expected: { ...called, usage: { inputTokens: 3, outputTokens: 13 } },
  },
  {
    id: 'A21',
    wire,
    title: 'the input is an object in its delta, indexes are text, and members are null',
    source: shapes,
    events: [
      start,
      { type: 'content_block_start', index: '0', content_block: { type: 'tool_use', ...f, input: null } },
      { type: 'content_block_delta', index: 0, delta: null },
      { type: 'content_block_delta', index: '0', delta: { type: 'input_json_delta', partial_json: null } },
      { type: 'content_block_delta', index: '0', delta: { type: 'input_json_delta', partial_json: { x: 1 } } },
      { type: 'content_block_start', index: 1, content_block: null },
      stop(0),
      ...end('tool_use'),
    ],
    expected: called,
  },
  {
    id: 'A23',
    wire,
    title: 'the deltas have no type, or another one',
    source: shapes,
    events: [
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { text: 'Hm.' } },
      stop(0),
      begin(1, f),
      { type: 'content_block_delta', index: 1, delta: { partial_json: '{"x":' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'tool_input_delta', partial_json: '1}' } },
      stop(1),
      ...end('tool_use'),
    ],
    expected: { ...called, text: 'Hm.' },
  },
  {
    id: 'A24',
    wire,
    title: 'the start of the message contains a call, and no block does',
    source: 'vercel/ai, packages/anthropic: calls of programs',
    events: [startWith({ type: 'tool_use', ...f, input: { x: 1 } }), ...text(0, 'Hm.'), ...end('tool_use')],
    expected: { ...called, text: 'Hm.' },
  },
  {
    id: 'A24',
    wire,
    title: 'the start of the message contains a call, and a block contains it again',
    source: 'as A24',
    events: [startWith({ type: 'tool_use', ...f, input: { x: 1 } }), ...toolUse(0, f, '{"x":1}'), ...end('tool_use')],
    expected: called,
  },
  ...[[], text(0, 'Hm.')].map(
    (again): Quirk => ({
      id: 'A24',
      wire,
      title: `the start of the message contains a text, and ${again.length === 0 ? 'no block does' : 'a block contains it again'}`,
      source: 'as A24',
      events: [startWith({ type: 'text', text: 'Hm.' }), ...again, ...end('end_turn')],
      expected: { text: 'Hm.', calls: [], finishReason: 'stop' },
    }),
  ),
  {
    id: 'A26',
    wire,
    title: 'the response is not streamed: it is the whole body',
    source: 'as T12',
    events: [
      `${JSON.stringify({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        stop_reason: 'tool_use',
        content: [
          { type: 'text', text: 'Hm.' },
          { type: 'tool_use', ...f, input: { x: 1 } },
        ],
        usage: { input_tokens: 3, output_tokens: 1 },
      })}\n`,
    ],
    expected: { ...called, text: 'Hm.', parts: ['text', 'call'] },
  },
  {
    id: 'A25',
    wire,
    title: 'the stop reason is next to the delta',
    source: shapes,
    events: [start, ...toolUse(0, f, '{"x":1}'), { type: 'message_delta', stop_reason: 'tool_use' }, messageStop],
    expected: called,
  },
  {
    id: 'A25',
    wire,
    title: 'the stop reason is in the last event',
    source: shapes,
    events: [start, ...toolUse(0, f, '{"x":1}'), { ...messageStop, stop_reason: 'tool_use' }],
    expected: called,
  },
  {
    id: 'A22',
    wire,
    title: 'the stop reason is tool_use, after a text and without a call',
    source: 'claude-code#40240',
    events: [start, ...text(0, 'Let me look.'), ...end('tool_use')],
    expected: { error: { code: 'missing_calls', retryable: true }, text: 'Let me look.', calls: [] },
  },
]

/** The beginning of a message with this content. */
function startWith(...content: readonly object[]): object {
  const usage = { input_tokens: 3, output_tokens: 1 }
  return { ...start, message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, usage } }
}

/** The start of a call. */
function begin(index: number, call: object): object {
  return { type: 'content_block_start', index, content_block: { type: 'tool_use', input: {}, ...call } }
}
