/** Quirks of OpenAI Chat Completions with names: a name comes in pieces, or only the name distinguishes two calls. */

import { begin, end, type Piece, pieces } from './chat-events.ts'
import type { Answered, Quirk } from './quirk.ts'

const wire = 'openai-chat'

const fragments = 'continue#5849 (Gemini), Switchyard#785'
const openRouter = 'hass_local_openai_llm#92 (OpenRouter)'

const read: Answered = {
  calls: [{ id: 'call_a', name: 'read_file', input: { path: 'a.txt' } }],
  finishReason: 'tool-calls',
}
const calledBoth: Answered = {
  calls: [
    { id: 'call_a', name: 'f', input: { x: 1 } },
    { name: 'g', input: { y: 2 } },
  ],
  finishReason: 'tool-calls',
}

export const chatNameQuirks: readonly Quirk[] = [
  named(
    'C9',
    'the full name comes again before the arguments, without an index',
    'hermes-agent#8259, #11984 (MiniMax, NIM)',
    { id: 'call_a', n: 'read_file', a: '' },
    { n: 'read_file', a: '' },
    { a: '{"path":"a.txt"}' },
  ),
  named(
    'C47',
    'a name comes in two pieces, the first of them the name of another tool',
    fragments,
    { i: 0, id: 'call_a', n: 'read', a: '' },
    { i: 0, n: '_file', a: '' },
    { i: 0, a: '{"path":' },
    { i: 0, a: '"a.txt"}' },
  ),
  named(
    'C47',
    'a name comes in two pieces, without an index',
    fragments,
    { id: 'call_a', n: 'read' },
    { n: '_file' },
    { a: '{"path":"a.txt"}' },
  ),
  named(
    'C47',
    'a name comes in two pieces, the arguments with the second',
    fragments,
    { i: 0, id: 'call_a', n: 'read' },
    { i: 0, id: 'call_a', n: '_file', a: '{"path":"a.txt"}' },
  ),
  {
    ...named(
      'C47',
      'a name comes in two pieces, a placeholder {} with the first',
      fragments,
      { i: 0, id: 'call_a', n: 'read', a: '{}' },
      { i: 0, n: '_file' },
      { i: 0, a: '{"path":"a.txt"}' },
    ),
    // Without knowing the tools, a reader takes `{}` for the end of a call without arguments.
    expected: {
      calls: [
        { id: 'call_a', name: 'read', input: {} },
        { name: '_file', input: { path: 'a.txt' } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    ...named(
      'C49',
      'a name comes in two pieces, each piece of the call with its own id',
      `as C47, ${fragments}`,
      { i: 0, id: 'call_a', n: 'read', a: '' },
      { i: 0, id: 'call_b', n: '_file', a: '' },
      { i: 0, id: 'call_c', a: '{"path":"a.txt"}' },
    ),
    // Without knowing the tools, a reader takes them for two calls.
    expected: {
      calls: [
        { id: 'call_a', name: 'read', input: {} },
        { id: 'call_b', name: '_file', input: { path: 'a.txt' } },
      ],
      finishReason: 'tool-calls',
    },
  },
  shared(
    'two whole calls have one index and one id',
    { i: 0, id: 'call_a', n: 'f', a: '{"x":1}' },
    { i: 0, id: 'call_a', n: 'g', a: '{"y":2}' },
  ),
  shared(
    'two calls have one index and one id, their arguments in pieces',
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 0, a: '{"x":' },
    { i: 0, a: '1}' },
    { i: 0, id: 'call_a', n: 'g', a: '' },
    { i: 0, a: '{"y":' },
    { i: 0, a: '2}' },
  ),
]

/** Pieces of a call of `read_file`, for a reader that also knows `read`. */
function named(id: string, title: string, source: string, ...list: readonly Piece[]): Quirk {
  const tools = [
    { name: 'read', inputSchema: { type: 'object' } },
    { name: 'read_file', inputSchema: { type: 'object' } },
  ]
  return { id, wire, title, source, events: inChunks(list), expected: read, declared: { tools, expected: read } }
}

/** Pieces of two calls. */
function shared(title: string, ...list: readonly Piece[]): Quirk {
  const tools = [
    { name: 'f', inputSchema: { type: 'object' } },
    { name: 'g', inputSchema: { type: 'object' } },
  ]
  return {
    id: 'C48',
    wire,
    title,
    source: openRouter,
    events: inChunks(list),
    expected: calledBoth,
    declared: { tools, expected: calledBoth },
  }
}

function inChunks(list: readonly Piece[]): Quirk['events'] {
  return [begin, ...list.map((piece) => pieces(piece)), ...end('tool_calls')]
}
