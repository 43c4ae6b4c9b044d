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
