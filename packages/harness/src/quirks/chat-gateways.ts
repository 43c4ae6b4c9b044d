/** Quirks of OpenAI Chat Completions on hosts that translate from another provider's wire. */

import type { FinishReason } from '@meanwhile/core'
import { begin, chunk, DONE, end, piece, pieces } from './chat-events.ts'
import type { Answered, Quirk } from './quirk.ts'

const wire = 'openai-chat'

const gemini = 'omnigent#28, gcli2api#406 (Gemini)'
const calledBoth: Answered = {
  calls: [
    { name: 'f', input: { x: 1 } },
    { name: 'g', input: { y: 2 } },
  ],
  finishReason: 'tool-calls',
}
const called: Answered = { calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }], finishReason: 'tool-calls' }
const calledEmpty: Answered = { calls: [{ id: 'call_a', name: 'f', input: {} }], finishReason: 'tool-calls' }

export const chatGatewayQuirks: readonly Quirk[] = [
  {
    id: 'G1',
    wire,
    title: 'two whole calls without an id in one chunk',
    source: gemini,
    events: [begin, pieces({ n: 'f', a: '{"x":1}' }, { n: 'g', a: '{"y":2}' }), ...end('tool_calls')],
    expected: calledBoth,
  },
  {
    id: 'G1',
    wire,
    title: 'two whole calls without an id, one per chunk',
    source: gemini,
    events: [begin, pieces({ n: 'f', a: '{"x":1}' }), pieces({ n: 'g', a: '{"y":2}' }), ...end('tool_calls')],
    expected: calledBoth,
  },
  {
    id: 'G5',
    wire,
    title: 'the arguments are empty in every piece',
    source: 'recorded streams; vercel/ai#19040 (Bedrock)',
    events: [
      begin,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '' }),
      pieces({ i: 0, a: '' }),
      pieces({ i: 0, a: '' }),
      ...end('tool_calls'),
    ],
    expected: calledEmpty,
  },
  {
    id: 'G6',
    wire,
    title: 'a call starts with empty arguments, and then it ends',
    source: 'recorded stream cohere-empty-tool-call',
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '' }), ...end('tool_calls')],
    expected: calledEmpty,
  },
  {
    id: 'G7',
    wire,
    title: 'the whole call comes in one chunk, the end in another',
    source: 'litellm#20585 (Ollama)',
    events: [
      chunk({ role: 'assistant', content: '', tool_calls: [piece({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' })] }),
      chunk({ role: 'assistant', content: '' }, 'tool_calls'),
      DONE,
    ],
    expected: called,
  },
  {
    id: 'C41',
    wire,
    title: 'the reasoning also comes in details, the last of them signed',
    source: 'agent-framework#2947, LibreChat-AI/agents#37, req_llm#300 (OpenRouter)',
    events: [
      begin,
      chunk({ reasoning: 'H', reasoning_details: [detail({ text: 'H' })] }),
      chunk({ reasoning: 'm.', reasoning_details: [detail({ text: 'm.' })] }),
      chunk({ reasoning: '', reasoning_details: [detail({ text: '', signature: 'c2lnbmF0dXJl' })] }),
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      ...end('tool_calls'),
    ],
    expected: { ...called, reasoning: 'Hm.', parts: ['reasoning', 'call'] },
  },
  {
    id: 'C42',
    wire,
    title: 'a second finish reason comes after that of a call',
    source: 'ChatMock#114, sglang#8417',
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), chunk({}, 'tool_calls'), ...end('stop')],
    expected: { ...called, finishReason: 'stop' },
  },
  {
    id: 'C42',
    wire,
    title: 'a second finish reason comes after that of the token limit',
    source: 'dynamo#4154',
    events: [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), chunk({}, 'length'), ...end('stop')],
    expected: { ...called, finishReason: 'length' },
  },
  ...worded('eos', 'stop', 'openai-dotnet#267, ragas#1548 (Together)'),
  ...worded('eos_token', 'stop', 'spring-ai#4900, ragas#1548 (watsonx)'),
  ...worded('tool_use', 'tool-calls', 'bifrost#617 (Bedrock)'),
  ...worded('tool_call', 'tool-calls', 'mlx-lm#782'),
  ...worded('STOP', 'stop', 'QwenLM/qwen-code#9884 (Gemini)'),
  ...worded('TOOL_CALLS', 'tool-calls', 'as C43'),
  ...worded('tool-calls', 'tool-calls', 'as C43'),
  ...worded('MAX_TOKENS', 'length', 'QwenLM/qwen-code#9884 (Gemini)'),
  {
    id: 'C43',
    wire,
    title: 'the finish reason is SAFETY',
    source: 'as C43 (Gemini)',
    events: [begin, chunk({ content: 'Hel' }), ...end('SAFETY')],
    expected: { text: 'Hel', calls: [], finishReason: 'content-filter' },
  },
  {
    id: 'C43',
    wire,
    title: 'the finish reason is insufficient_system_resource',
    source: "DeepSeek's documentation",
    events: [begin, chunk({ content: 'Hel' }), ...end('insufficient_system_resource')],
    expected: { error: { retryable: true }, text: 'Hel' },
  },
  {
    id: 'C44',
    wire,
    title: 'two whole calls have one index and no ids',
    source: 'hermes-agent#62937 (Gemini compatibility endpoint)',
    events: [
      begin,
      pieces({ i: 0, id: '', n: 'f', a: '{"x":1}' }),
      pieces({ i: 0, id: '', n: 'g', a: '{"y":2}' }),
      ...end('tool_calls'),
    ],
    expected: calledBoth,
  },
  {
    id: 'C45',
    wire,
    title: 'a custom tool is called, whose input is text',
    source: 'openai-openapi#576, openai-python#2530',
    events: [
      begin,
      chunk({ content: 'Look.' }),
      chunk({ tool_calls: [{ index: 0, id: 'call_a', type: 'custom', custom: { name: 'shell', input: '' } }] }),
      chunk({ tool_calls: [{ index: 0, custom: { input: 'echo hello' } }] }),
      ...end('tool_calls'),
    ],
    expected: { error: { retryable: false }, text: 'Look.' },
  },
  {
    id: 'C46',
    wire,
    title: 'next to every function of a call there is an empty custom tool',
    source: 'pi#8504',
    events: [
      begin,
      chunk({ tool_calls: [{ ...piece({ i: 0, id: 'call_a', n: 'f', a: '{"x"' }), custom: {} }] }),
      chunk({ tool_calls: [{ ...piece({ i: 0, a: ':1}' }), custom: {} }] }),
      ...end('tool_calls'),
    ],
    expected: called,
  },
]

function detail(said: object): object {
  return { type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1', ...said }
}

/** A finish reason in the words of the provider behind the host. */
function worded(word: string, finishReason: FinishReason, source: string): readonly Quirk[] {
  const events = [begin, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), ...end(word)]
  return [
    { id: 'C43', wire, title: `the finish reason is ${word}`, source, events, expected: { ...called, finishReason } },
  ]
}
