/** What hosts of OpenAI Chat Completions do to a reader that put another provider's wire behind it. */

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
    expected: { calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }], finishReason: 'tool-calls' },
  },
]
