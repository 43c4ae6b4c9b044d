/** Quirks of OpenAI Chat Completions, on OpenAI's own host and others: calls and the pieces they come in. */

import { begin, chunk, DONE, end, envelope, type Piece, piece, pieces } from './chat-events.ts'
import type { Answered, ExpectedCall, Quirk, QuirkEvent } from './quirk.ts'

const wire = 'openai-chat'

const f = { id: 'call_a', name: 'f' }
const g = { id: 'call_b', name: 'g' }
const calledF = called({ ...f, input: { x: 1 } })
const calledBoth = called({ ...f, input: { x: 1 } }, { ...g, input: { y: 2 } })
const invalid = called({ ...f, invalid: true })

export const chatQuirks: readonly Quirk[] = [
  {
    id: 'C1',
    wire,
    title: 'the arguments of two calls interleave',
    source: 'Qwen-Agent#943, any-llm#1305, bifrost#1829',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '' }),
      pieces({ i: 0, a: '{"x":' }),
      pieces({ i: 1, id: 'call_b', n: 'g', a: '' }),
      pieces({ i: 0, a: '1}' }),
      pieces({ i: 1, a: '{}' }),
      ...end('tool_calls'),
    ],
    expected: called({ ...f, input: { x: 1 } }, { ...g, input: {} }),
  },
  {
    id: 'C2',
    wire,
    title: 'whole calls without an index',
    source: 'openai-python#2806, OpenMAIC#1556 (Gemini compatibility endpoint)',
    events: [
      begin,
      pieces({ id: 'call_a', n: 'f', a: '{"x":1}' }, { id: 'call_b', n: 'g', a: '{"y":2}' }),
      ...end('tool_calls'),
    ],
    expected: calledBoth,
  },
  {
    id: 'C3',
    wire,
    title: 'no index, and pieces without an id continue the call before them',
    source: 'langchain-oracle#253, open-webui/computer#224',
    events: [
      begin,
      pieces({ id: 'call_a', n: 'f', a: '' }),
      pieces({ a: '{"x":' }),
      pieces({ a: '1}' }),
      pieces({ id: 'call_b', n: 'g', a: '' }),
      pieces({ a: '{"y":2}' }),
      ...end('tool_calls'),
    ],
    expected: calledBoth,
  },
  ...indexed('the first index is 1', 1, 2),
  ...indexed('the indexes have a hole', 1, 3),
  ...indexed('every call has index 1', 1, 1),
  {
    id: 'C6',
    wire,
    title: 'the id comes in every chunk',
    source: 'litellm#8990 (Fireworks), SillyTavern#5948',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      pieces({ i: 0, id: 'call_a', a: '1' }),
      pieces({ i: 0, id: 'call_a', a: '}' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C8',
    wire,
    title: 'later pieces have an empty id and an empty name',
    source: 'recorded streams alibaba, mistral-incremental; pydantic-ai#8208, vercel/ai#19091',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      pieces({ i: 0, id: '', n: '', a: '1}' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C8',
    wire,
    title: 'later pieces have null for id, name and role',
    source: 'recorded streams alibaba, mistral-incremental; pydantic-ai#8208, vercel/ai#19091',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      chunk({ role: null, content: null, tool_calls: [piece({ i: 0, id: null, n: null, a: '1}' })] }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C9',
    wire,
    title: 'the full name comes in every chunk',
    source: 'hermes-agent#8259, #11984 (MiniMax, NIM)',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'read_file', a: '{"x":' }),
      pieces({ i: 0, n: 'read_file', a: '1}' }),
      ...end('tool_calls'),
    ],
    expected: called({ id: 'call_a', name: 'read_file', input: { x: 1 } }),
  },
  {
    id: 'C11',
    wire,
    title: 'the name is empty at first, and comes later',
    source: 'vmlx#244',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: '', a: '' }),
      pieces({ i: 0, a: '{"x":1}' }),
      pieces({ i: 0, n: 'f' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C12',
    wire,
    title: 'the arguments are null at first',
    source: 'vllm#9693, ogx#5462',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: null }),
      pieces({ i: 0, a: '{"x":1}' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C13',
    wire,
    title: 'a placeholder {} comes before the real arguments',
    source: 'openai-agents-js#712 (Bedrock)',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{}' }),
      pieces({ i: 0, a: '{"x":1}' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C15',
    wire,
    title: 'whole call, finish reason and usage in one chunk, without type and index',
    source: 'recorded streams mistral, xai, groq',
    events: [
      begin,
      envelope({
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ id: 'call_a', function: { name: 'f', arguments: '{"x":1}' } }] },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      }),
      DONE,
    ],
    expected: { ...calledF, usage: { inputTokens: 3, outputTokens: 2 } },
  },
  {
    id: 'C16',
    wire,
    title: 'the arguments are an object',
    source: 'oh-my-pi#1779 (MiniMax), litellm#37792 (Ollama), unsloth#10275',
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: { x: 1 } }), ...end('tool_calls')],
    expected: calledF,
  },
  {
    id: 'C17',
    wire,
    title: 'each piece repeats all arguments so far',
    source: 'hermes-agent#35718 (DeepSeek, Qianfan)',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"q' }),
      pieces({ i: 0, a: '{"q":"a' }),
      pieces({ i: 0, a: '{"q":"a"}' }),
      ...end('tool_calls'),
    ],
    expected: called({ ...f, input: { q: 'a' } }),
  },
  {
    id: 'C18',
    wire,
    title: 'the arguments come again, with other white space',
    source: 'eliza#16973, opencodex#361',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      pieces({ i: 0, a: '1}' }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{ "x": 1 }' }),
      ...end('tool_calls'),
    ],
    expected: calledF,
  },
  {
    id: 'C18',
    wire,
    title: 'empty arguments come again, as a JSON string',
    source: 'experiential#893 (DeepSeek on Azure Foundry)',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '' }),
      pieces({ i: 0, a: '{}' }),
      pieces({ i: 0, a: '""' }),
      ...end('tool_calls'),
    ],
    expected: called({ ...f, input: {} }),
  },
  ...reasoned('stop', 'stop'),
  ...reasoned('function_call', 'tool-calls'),
  ...reasoned('end_turn', 'stop'),
  {
    id: 'C21',
    wire,
    title: 'the last arguments come with the finish reason',
    source: 'vllm#36944, claux#43',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      chunk({ tool_calls: [piece({ i: 0, a: '1}' })] }, 'tool_calls'),
      DONE,
    ],
    expected: calledF,
  },
  {
    id: 'C21',
    wire,
    title: 'arguments come after the finish reason',
    source: 'vllm#36944, claux#43',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      chunk({}, 'tool_calls'),
      pieces({ i: 0, a: '1}' }),
      DONE,
    ],
    expected: calledF,
  },
  {
    id: 'C22',
    wire,
    title: 'the token limit cuts the arguments',
    source: 'langchain#39275, langchainjs#11494, costrict#1360',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'write_file', a: '{"path":"a.txt","text":' }),
      pieces({ i: 0, a: '"half of' }),
      ...end('length'),
    ],
    expected: { calls: [{ id: 'call_a', name: 'write_file', invalid: true }], finishReason: 'length' },
  },
  {
    id: 'C22',
    wire,
    title: 'the token limit comes after a whole call',
    source: 'langchain#39275, langchainjs#11494, costrict#1360',
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), ...end('length')],
    expected: { calls: [{ ...f, input: { x: 1 } }], finishReason: 'length' },
  },
  {
    id: 'C27',
    wire,
    title: 'a call stands between two texts',
    source: 'pydantic-ai#8208',
    events: [
      begin,
      chunk({ content: 'Look: ' }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      chunk({ content: 'Done.' }),
      ...end('tool_calls'),
    ],
    expected: { ...calledF, text: 'Look: Done.', parts: ['text', 'call', 'text'] },
  },
  {
    id: 'C28',
    wire,
    title: 'the call is a function_call of the old form',
    source: 'oh-my-pi#1692',
    events: [
      begin,
      chunk({ function_call: { name: 'f', arguments: '{"x":' } }),
      chunk({ function_call: { arguments: '1}' } }),
      ...end('function_call'),
    ],
    expected: called({ name: 'f', input: { x: 1 } }),
  },
  {
    id: 'C29',
    wire,
    title: 'two choices have calls at index 0',
    source: 'sentry-javascript#24243',
    events: [
      begin,
      envelope({ choices: [{ index: 1, delta: { role: 'assistant', content: null }, finish_reason: null }] }),
      choice(0, { i: 0, id: 'call_a', n: 'f', a: '{"x":' }),
      choice(1, { i: 0, id: 'call_b', n: 'g', a: '{"y":' }),
      choice(0, { i: 0, a: '1}' }),
      choice(1, { i: 0, a: '2}' }),
      envelope({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      envelope({ choices: [{ index: 1, delta: {}, finish_reason: 'tool_calls' }] }),
      DONE,
    ],
    expected: calledF,
  },
  {
    id: 'C31',
    wire,
    title: 'a junk token follows the complete object',
    source: 'ironclaw#5951, pi-anthropic-oauth#11',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      pieces({ i: 0, a: '<|im_end|>' }),
      ...end('tool_calls'),
    ],
    expected: invalid,
  },
  {
    id: 'C32',
    wire,
    title: 'the first piece of the arguments is missing',
    source: 'vllm#34887',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f' }),
      pieces({ i: 0, a: 'code":' }),
      pieces({ i: 0, a: '"uptime"}' }),
      ...end('tool_calls'),
    ],
    expected: invalid,
  },
  {
    id: 'C38',
    wire,
    title: 'the call carries a thought signature',
    source: 'open-webui/computer#224, OpenMAIC#1556',
    events: [
      begin,
      chunk({ tool_calls: [{ ...piece({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), ...signed() }] }),
      ...end('tool_calls'),
    ],
    expected: called({ ...f, input: { x: 1 }, sentBack: signed() }),
  },
  {
    id: 'C38',
    wire,
    title: 'the thought signature of a call comes in its own piece',
    source: 'open-webui/computer#224, OpenMAIC#1556',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      chunk({ tool_calls: [{ index: 0, ...signed() }] }),
      ...end('tool_calls'),
    ],
    expected: called({ ...f, input: { x: 1 }, sentBack: signed() }),
  },
  {
    id: 'C40',
    wire,
    title: 'every chunk has its own response id',
    source: 'litellm#37792',
    events: [
      begin,
      { ...pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":' }), id: 'chatcmpl-1' },
      { ...pieces({ i: 0, a: '1}' }), id: 'chatcmpl-2' },
      { ...chunk({}, 'tool_calls'), id: 'chatcmpl-3' },
      DONE,
    ],
    expected: calledF,
  },
]

function called(...calls: readonly ExpectedCall[]): Answered {
  return { calls, finishReason: 'tool-calls' }
}

/** Two calls whose indexes are not 0 and 1. */
function indexed(title: string, first: number, second: number): readonly Quirk[] {
  const events: readonly QuirkEvent[] = [
    begin,
    pieces({ i: first, id: 'call_a', n: 'f', a: '{"x":' }),
    pieces({ i: first, a: '1}' }),
    pieces({ i: second, id: 'call_b', n: 'g', a: '{"y":' }),
    pieces({ i: second, a: '2}' }),
    ...end('tool_calls'),
  ]
  const source = 'vercel/ai#18333, CLIProxyAPI#5229, foundry-local#372, bedrock-access-gateway#134'
  return [{ id: 'C5', wire, title, source, events, expected: calledBoth }]
}

/** Calls, then a finish reason that does not belong to calls. */
function reasoned(word: string, finishReason: 'stop' | 'tool-calls'): readonly Quirk[] {
  return [
    {
      id: 'C19',
      wire,
      title: `the finish reason of a call is ${word}`,
      source: 'python-genai#2868, ollama#7963, litellm#35663, unsloth#10362',
      events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), ...end(word)],
      expected: { ...calledF, finishReason },
    },
  ]
}

function choice(index: number, ...list: readonly Piece[]): object {
  return envelope({ choices: [{ index, delta: { tool_calls: list.map(piece) }, finish_reason: null }] })
}

function signed(): object {
  return { extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } } }
}
