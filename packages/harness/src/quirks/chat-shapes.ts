/** Quirks of OpenAI Chat Completions with members in another form or at another place. */

import { begin, chunk, DONE, end, envelope, piece, pieces } from './chat-events.ts'
import type { Answered, ExpectedCall, Quirk } from './quirk.ts'

const wire = 'openai-chat'

const f: ExpectedCall = { id: 'call_a', name: 'f', input: { x: 1 } }
const calledF: Answered = { calls: [f], finishReason: 'tool-calls' }
const wholeF = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }
const answer = { role: 'assistant', content: 'Look.', tool_calls: [wholeF] }

const forms = 'QwenLM/qwen-code#9884, Amm1rr/WebAI-to-API#55'
const moonshot = 'earendil-works/pi#2017, AstrBotDevs/AstrBot#6614 (Moonshot)'
const litellm = 'BerriAI/litellm#29428, google/adk-python#5437'
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }

const wholeChoice = { index: 0, message: answer, finish_reason: 'tool_calls' }

/** The schema of a tool, which hosts repeat. */
const SCHEMA = { type: 'object', required: [] }

/** Where hosts send arguments, and the call. */
const ELSEWHERE: readonly (readonly [place: string, call: object])[] = [
  ['next to its member function', { function: { name: 'f' }, arguments: '{"x":1}' }],
  ['next to empty ones', { function: { name: 'f', arguments: '' }, arguments: { x: 1 } }],
  ['named parameters', { function: { name: 'f', parameters: { x: 1 } } }],
  ['named parameters, next to an empty object', { function: { name: 'f', arguments: '{}', parameters: { x: 1 } } }],
  ['next to the schema of the tool', { function: { name: 'f', arguments: '', parameters: SCHEMA }, args: { x: 1 } }],
  ['next to its name, without a member function', { name: 'f', arguments: '{"x":1}' }],
]

const EMPTY = [
  chunk({ tool_calls: [{}] }),
  pieces({ i: 0 }),
  pieces({ i: 0, id: null, n: '', a: '' }),
  chunk({ tool_calls: [{ index: 1, id: '', type: 'function', function: null }] }),
]

export const chatShapeQuirks: readonly Quirk[] = [
  {
    id: 'C55',
    wire,
    title: 'a chunk has a message in place of a delta',
    source: forms,
    events: [envelope({ choices: [{ index: 0, message: answer, finish_reason: 'tool_calls' }] }), DONE],
    expected: { ...calledF, text: 'Look.' },
  },
  {
    id: 'C55',
    wire,
    title: 'the whole message comes after its deltas',
    source: forms,
    events: [
      begin,
      chunk({ content: 'Look.' }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      envelope({ choices: [{ index: 0, message: answer, finish_reason: 'tool_calls' }] }),
      DONE,
    ],
    expected: { ...calledF, text: 'Look.', parts: ['text', 'call'] },
  },
  {
    id: 'C56',
    wire,
    title: 'the response is not streamed: it is the whole body',
    source: 'as T12',
    events: [
      `${JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        choices: [{ index: 0, message: answer, finish_reason: 'tool_calls' }],
        usage,
      })}\n`,
    ],
    expected: { ...calledF, text: 'Look.', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  ...[
    ['an empty line', '\n\n'],
    ['nothing', ''],
  ].map(
    ([between, text]): Quirk => ({
      id: 'C56',
      wire,
      title: `the response is not streamed, and the end of the protocol follows after ${between}`,
      source: 'as T12',
      events: [
        `${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', choices: [wholeChoice] }, null, 2)}${text}`,
        DONE,
      ],
      expected: { ...calledF, text: 'Look.' },
    }),
  ),
  ...ELSEWHERE.map(
    ([place, call]): Quirk => ({
      id: 'C62',
      wire,
      title: `the arguments of a call are ${place}`,
      source: 'as C16',
      events: [
        begin,
        chunk({ tool_calls: [{ index: 0, id: 'call_a', type: 'function', ...call }] }),
        ...end('tool_calls'),
      ],
      expected: calledF,
    }),
  ),
  {
    id: 'C62',
    wire,
    title: 'the arguments of a call are named input, and are themselves a schema',
    source: 'as C16',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f' }),
      chunk({ tool_calls: [{ index: 0, function: { input: { type: 'object', properties: {} } } }] }),
      ...end('tool_calls'),
    ],
    expected: { ...calledF, calls: [{ name: 'f', input: { type: 'object', properties: {} } }] },
  },
  {
    id: 'C62',
    wire,
    title: 'a call has different arguments in and next to its member function',
    source: 'as C16',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f' }),
      chunk({ tool_calls: [{ ...piece({ i: 0, a: '{"x":1}' }), arguments: '{"x":2}' }] }),
      ...end('tool_calls'),
    ],
    expected: { error: { code: 'invalid_chunk', retryable: true } },
  },
  {
    id: 'C63',
    wire,
    title: 'pieces of calls are empty, after a text',
    source: forms,
    events: [begin, chunk({ content: 'Hello' }), ...EMPTY, ...end('stop')],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C63',
    wire,
    title: 'pieces of calls are empty, and the finish reason is that of calls',
    source: forms,
    events: [begin, chunk({ content: 'Hello' }), ...EMPTY, ...end('tool_calls')],
    expected: { error: { code: 'missing_calls', retryable: true }, text: 'Hello', calls: [] },
  },
  {
    id: 'C57',
    wire,
    title: 'the content is a list of texts, and a part of another type',
    source: 'as C26',
    events: [
      begin,
      chunk({ content: ['Hel', 'l'] }),
      chunk({ content: { type: 'output_text', text: 'o' } }),
      ...end('stop'),
    ],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C64',
    wire,
    title: 'null is among the choices',
    source: forms,
    events: [begin, envelope({ choices: [null] }), chunk({ content: 'Hello' }), ...end('stop')],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C57',
    wire,
    title: 'the text is in the choice, as in a completion of text',
    source: forms,
    events: [envelope({ choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }] }), DONE],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C57',
    wire,
    title: 'the content is one part',
    source: 'as C26',
    events: [begin, chunk({ content: { type: 'text', text: 'Hel' } }), chunk({ content: 'lo' }), ...end('stop')],
    expected: { text: 'Hello', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C57',
    wire,
    title: 'null is among the calls',
    source: forms,
    events: [
      begin,
      chunk({ tool_calls: [null, piece({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' })] }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C57',
    wire,
    title: 'ids are numbers, and indexes are strings',
    source: forms,
    events: [
      envelope({ choices: [{ index: '0', delta: { role: 'assistant', content: null }, finish_reason: null }] }),
      chunk({ tool_calls: [{ ...piece({ n: 'f', a: '{"x":' }), index: '0', id: 7 }] }),
      chunk({ tool_calls: [{ ...piece({ a: '1}' }), index: 0 }] }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ ...f, id: '7' }], finishReason: 'tool-calls' },
  },
  {
    id: 'C58',
    wire,
    title: 'the usage is in the choice',
    source: moonshot,
    events: [
      begin,
      chunk({ content: 'Hello' }),
      envelope({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }),
      DONE,
    ],
    expected: { text: 'Hello', calls: [], finishReason: 'stop', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  {
    id: 'C58',
    wire,
    title: 'the usage is in a member of the host',
    source: "Groq's documentation",
    events: [
      begin,
      chunk({ content: 'Hello' }),
      envelope({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq: { id: 'req_1', usage } }),
      DONE,
    ],
    expected: { text: 'Hello', calls: [], finishReason: 'stop', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  {
    id: 'C59',
    wire,
    title: 'the reasoning also comes in thinking blocks, the signature in another block',
    source: litellm,
    events: [
      begin,
      chunk({ reasoning_content: 'H', thinking_blocks: [thinking('H', '')] }),
      chunk({ reasoning_content: 'm.', thinking_blocks: [thinking('m.', '')] }),
      chunk({ reasoning_content: '', thinking_blocks: [thinking('', 'c2lnbmF0dXJl')] }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      ...end('tool_calls'),
    ],
    expected: { ...calledF, reasoning: 'Hm.', parts: ['reasoning', 'call'] },
  },
  {
    id: 'C59',
    wire,
    title: 'the call has fields of the provider behind the host',
    source: litellm,
    events: [
      begin,
      chunk({ tool_calls: [{ ...piece({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), ...fields() }] }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ ...f, sentBack: fields() }], finishReason: 'tool-calls' },
  },
  {
    id: 'C59',
    wire,
    title: 'the function of the call has fields of the provider behind the host',
    source: litellm,
    events: [
      begin,
      chunk({ tool_calls: [{ index: 0, ...wholeF, function: { ...wholeF.function, ...fields() } }] }),
      ...end('tool_calls'),
    ],
    expected: {
      calls: [{ ...f, sentBack: { function: { ...wholeF.function, ...fields() } } }],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'C65',
    wire,
    title: 'the content is a list of parts, and one of them is a summary of reasoning',
    source: 'the documentation of Databricks',
    events: [
      begin,
      chunk({ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm', signature: 's' }] }] }),
      chunk({ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: '.' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hello' }] }),
      ...end('stop'),
    ],
    expected: { text: 'Hello', reasoning: 'Hm.', calls: [], finishReason: 'stop', parts: ['reasoning', 'text'] },
  },
  {
    id: 'C66',
    wire,
    title: 'the calls are an object with their places',
    source: forms,
    events: [
      begin,
      chunk({ tool_calls: { 0: piece({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }) } }),
      chunk({ tool_calls: { 1: piece({ id: 'call_b', n: 'g', a: '{' }) } }),
      chunk({ tool_calls: { 0: piece({ a: '1}' }), 1: piece({ a: '}' }) } }),
      ...end('stop'),
    ],
    expected: { calls: [f, { id: 'call_b', name: 'g', input: {} }], finishReason: 'stop' },
  },
  {
    id: 'C67',
    wire,
    title: 'the error is in the choice that it ended, after a whole call',
    source: 'the documentation of OpenRouter',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      envelope({
        choices: [
          { index: 0, delta: { content: '' }, finish_reason: 'error', error: { code: 502, message: 'Upstream broke' } },
        ],
      }),
      DONE,
    ],
    expected: { error: { code: '502', status: 502, retryable: true }, calls: [f] },
  },
  {
    id: 'C59',
    wire,
    title: 'the reasoning comes in reasoning_text, and encrypted in reasoning_opaque',
    source: 'anomalyco/opencode#10963, router-for-me/CLIProxyAPI#383 (Copilot)',
    events: [
      begin,
      chunk({ reasoning_text: 'Hm.' }),
      chunk({ reasoning_opaque: 'c2lnbmF0dXJl' }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      ...end('tool_calls'),
    ],
    expected: { ...calledF, reasoning: 'Hm.', parts: ['reasoning', 'call'] },
  },
]

function thinking(text: string, signature: string): object {
  return { type: 'thinking', thinking: text, signature }
}

function fields(): object {
  return { provider_specific_fields: { thought_signature: 'c2lnbmF0dXJl' } }
}
