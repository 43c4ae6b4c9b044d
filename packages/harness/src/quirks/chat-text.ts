/** Quirks of OpenAI Chat Completions with text and arguments that need decoding. */

import { begin, chunk, DONE, end, envelope, pieces } from './chat-events.ts'
import type { Quirk } from './quirk.ts'

const wire = 'openai-chat'

const templates = 'kimi-code#798, adk-python#5654, tt-inference-server#3683, vllm#51701'
const strings = 'quarkus-langchain4j#2642, kimi-cli#2572, hass-pi-agent#42'
const surrogates = 'eliza#30904, rakazo#416 (Postgres refused it), imp#1554'

export const chatTextQuirks: readonly Quirk[] = [
  {
    id: 'C24',
    wire,
    title: 'every delta has an empty list of calls, or null',
    source: 'vercel/ai#20203',
    events: [
      begin,
      chunk({ reasoning_content: 'H', tool_calls: [] }),
      chunk({ reasoning_content: 'm.', tool_calls: null }),
      chunk({ content: 'Hel', tool_calls: [] }),
      chunk({ content: 'lo', tool_calls: null }),
      chunk({ tool_calls: [] }, 'stop'),
      DONE,
    ],
    expected: { reasoning: 'Hm.', text: 'Hello', calls: [], finishReason: 'stop', parts: ['reasoning', 'text'] },
  },
  {
    id: 'C25',
    wire,
    title: 'chunks without choices, a choice without a delta, usage in its own chunk',
    source: 'mentat#429, autogen#6465, langchain#18977 (Azure)',
    events: [
      { id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      envelope({ choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 1 } }] }),
      chunk({ role: 'assistant', content: 'Hello' }),
      chunk({}, 'stop'),
      envelope({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } }),
      DONE,
    ],
    expected: { text: 'Hello', calls: [], finishReason: 'stop', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  {
    id: 'C26',
    wire,
    title: 'the content is a list of parts, thinking among them',
    source: 'meilisearch#6327, n8n#37352 (Mistral)',
    events: [
      begin,
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'H' }] }] }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'm.' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hel' }] }),
      chunk({ content: 'lo' }),
      ...end('stop'),
    ],
    expected: { reasoning: 'Hm.', text: 'Hello', calls: [], finishReason: 'stop', parts: ['reasoning', 'text'] },
  },
  {
    id: 'C30',
    wire,
    title: 'the markup of a call comes as text',
    source: templates,
    events: [
      begin,
      chunk({ content: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' }),
      chunk({ content: 'function<｜tool▁sep｜>f\n{"x":1}' }),
      ...end('stop'),
    ],
    expected: {
      text: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n{"x":1}',
      calls: [],
      finishReason: 'stop',
    },
  },
  {
    id: 'C30',
    wire,
    title: 'the arguments begin with the word json',
    source: templates,
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: 'json\n{"x"' }),
      pieces({ i: 0, a: ':1}' }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ id: 'call_a', name: 'f', invalid: true }], finishReason: 'tool-calls' },
  },
  {
    id: 'C30',
    wire,
    title: 'the arguments end with markup',
    source: templates,
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1' }),
      pieces({ i: 0, a: '}}</s' }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ id: 'call_a', name: 'f', invalid: true }], finishReason: 'tool-calls' },
  },
  {
    id: 'C34',
    wire,
    title: 'the arguments are a JSON string of an object',
    source: strings,
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '"{\\"x\\":' }),
      pieces({ i: 0, a: '1}"' }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ id: 'call_a', name: 'f', input: '{"x":1}' }], finishReason: 'tool-calls' },
    declared: {
      tools: [{ name: 'f', inputSchema: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } }],
      expected: { calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }], finishReason: 'tool-calls' },
    },
  },
  {
    id: 'C34',
    wire,
    title: 'a value in the arguments is a JSON string of a list',
    source: strings,
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"tags":"[\\"a\\"]"}' }), ...end('tool_calls')],
    expected: { calls: [{ id: 'call_a', name: 'f', input: { tags: '["a"]' } }], finishReason: 'tool-calls' },
    declared: {
      tools: [
        {
          name: 'f',
          inputSchema: {
            type: 'object',
            properties: { tags: { type: 'array', items: { type: 'string' } } },
            required: ['tags'],
          },
        },
      ],
      expected: { calls: [{ id: 'call_a', name: 'f', input: { tags: ['a'] } }], finishReason: 'tool-calls' },
    },
  },
  {
    id: 'C35',
    wire,
    title: 'the halves of a surrogate pair come in two pieces of the arguments',
    source: surrogates,
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"city":"東京\ud83c' }),
      pieces({ i: 0, a: '\udf0d"}' }),
      ...end('tool_calls'),
    ],
    expected: { calls: [{ id: 'call_a', name: 'f', input: { city: '東京🌍' } }], finishReason: 'tool-calls' },
  },
  {
    id: 'C35',
    wire,
    title: 'the halves of a surrogate pair come in two deltas of text',
    source: surrogates,
    events: [begin, chunk({ content: '東京\ud83c' }), chunk({ content: '\udf0d' }), ...end('stop')],
    expected: { text: '東京🌍', calls: [], finishReason: 'stop' },
  },
  {
    id: 'C35',
    wire,
    title: 'the arguments already have a replacement character in them',
    source: surrogates,
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"city":"\ufffd\ufffd"}' }), ...end('tool_calls')],
    expected: { calls: [{ id: 'call_a', name: 'f', input: { city: '\ufffd\ufffd' } }], finishReason: 'tool-calls' },
  },
  {
    id: 'C37',
    wire,
    title: 'one call named parallel wraps the actual calls',
    source: 'vercel/ai#19067',
    events: [begin, pieces({ i: 0, id: 'call_p', n: 'parallel', a: JSON.stringify(wrapped()) }), ...end('tool_calls')],
    expected: { calls: [{ id: 'call_p', name: 'parallel', input: wrapped() }], finishReason: 'tool-calls' },
    declared: {
      tools: [
        { name: 'f', inputSchema: { type: 'object' } },
        { name: 'g', inputSchema: { type: 'object' } },
      ],
      expected: {
        calls: [
          { name: 'f', input: { x: 1 } },
          { name: 'g', input: { y: 2 } },
        ],
        finishReason: 'tool-calls',
      },
    },
  },
]

function wrapped(): object {
  return {
    tool_uses: [
      { recipient_name: 'functions.f', parameters: { x: 1 } },
      { recipient_name: 'functions.g', parameters: { y: 2 } },
    ],
  }
}
