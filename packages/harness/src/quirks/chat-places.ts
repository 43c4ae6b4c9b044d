/** Quirks of OpenAI Chat Completions with the place of a call: its index, its id, and arguments without either. */

import { begin, chunk, end, type Piece, pieces } from './chat-events.ts'
import type { Answered, ExpectedCall, Outcome, Quirk } from './quirk.ts'

const f: ExpectedCall = { id: 'call_a', name: 'f', input: { x: 1 } }
const g: ExpectedCall = { id: 'call_b', name: 'g', input: { y: 2 } }
const calledF = called(f)
const calledBoth = called(f, g)
const unclear: Outcome = { error: { code: 'invalid_chunk', retryable: true } }

const fragments = 'dirac-run/dirac#215 (Nebius, Cerebras)'
const again = 'mudler/LocalAI#9722'
const shared = 'diegosouzapw/OmniRoute#11144'
const noId = 'zed-industries/zed#53605 (Mistral)'

export const chatPlaceQuirks: readonly Quirk[] = [
  placed(
    'C50',
    'each piece of the arguments has the next index',
    fragments,
    calledBoth,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, a: '{"x":' },
    { i: 2, a: '1}' },
    { i: 3, id: 'call_b', n: 'g', a: '' },
    { i: 4, a: '{"y":' },
    { i: 5, a: '2}' },
  ),
  placed(
    'C50',
    'the arguments have the index after that of their call',
    fragments,
    calledBoth,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, a: '{"x":1}' },
    { i: 1, id: 'call_b', n: 'g', a: '' },
    { i: 2, a: '{"y":2}' },
  ),
  placed(
    'C50',
    'the call has no index, and its arguments have one',
    `as C50, ${fragments}`,
    calledF,
    { id: 'call_a', n: 'f', a: '' },
    { i: 0, a: '{"x":' },
    { i: 0, a: '1}' },
  ),
  placed(
    'C50',
    'arguments come before the call that their index belongs to, another call is open',
    `as C50, ${fragments}`,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, a: '{"x":1}' },
    { i: 1, id: 'call_b', n: 'g', a: '' },
  ),
  placed(
    'C50',
    'arguments of an open call come at a new index, and then at its own again',
    `as C50, ${fragments}`,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, a: '{"x":1}' },
    { i: 0, a: '{"x":2}' },
  ),
  placed(
    'C51',
    'a call begins at one index, and comes whole at another, with one id',
    again,
    calledF,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_a', n: 'f', a: '{"x":1}' },
  ),
  placed(
    'C51',
    'a call begins twice, and its arguments come in pieces at the second index',
    again,
    calledF,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_a', n: 'f', a: '' },
    { i: 1, a: '{"x":' },
    { i: 1, a: '1}' },
  ),
  placed(
    'C51',
    'the pieces of two calls have their ids, and a wrong index',
    again,
    calledBoth,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_b', n: 'g', a: '' },
    { i: 1, id: 'call_a', a: '{"x":1}' },
    { i: 0, id: 'call_b', a: '{"y":2}' },
  ),
  placed(
    'C52',
    'a call comes again under the next index, with other white space',
    again,
    calledF,
    { i: 0, id: 'call_a', n: 'f', a: '{"x":1}' },
    { i: 1, id: 'call_a', n: 'f', a: '{ "x":' },
    { i: 1, a: ' 1 }' },
  ),
  placed(
    'C52',
    'a whole call is announced again under the next index, without arguments',
    again,
    calledF,
    { i: 0, id: 'call_a', n: 'f', a: '{"x":1}' },
    { i: 1, id: 'call_a', n: 'f', a: '' },
  ),
  placed(
    'C52',
    'a whole call comes again under the next index, without its name',
    again,
    calledF,
    { i: 0, id: 'call_a', n: 'f', a: '{"x":1}' },
    { i: 1, id: 'call_a', a: '{"x":1}' },
  ),
  placed(
    'C52',
    'two calls at two indexes share an id, and their arguments differ',
    'as R15',
    called(f, { name: 'f', input: { x: 2 } }),
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_a', n: 'f', a: '' },
    { i: 0, a: '{"x":1}' },
    { i: 1, a: '{"x":2}' },
  ),
  placed(
    'C53',
    'two calls begin at one index, and their arguments come at two',
    shared,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 0, id: 'call_b', n: 'g', a: '' },
    { i: 0, a: '{"x":1}' },
    { i: 1, a: '{"y":2}' },
  ),
  placed(
    'C53',
    'two calls begin at one index, and arguments come at this index only',
    `as C5, ${shared}`,
    called({ id: 'call_a', name: 'f', input: {} }, g),
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 0, id: 'call_b', n: 'g', a: '' },
    { i: 0, a: '{"y":2}' },
  ),
  placed(
    'C54',
    'the id of later pieces is the word null',
    noId,
    calledF,
    { id: 'call_a', n: 'f', a: '' },
    { n: '', a: '{"x":' },
    { id: 'null', n: '', a: '1}' },
  ),
  placed(
    'C54',
    'two calls have the word null as their id',
    noId,
    called({ name: 'f', input: { x: 1 } }, { name: 'g', input: { y: 2 } }),
    { i: 0, id: 'null', n: 'f', a: '{"x":1}' },
    { i: 1, id: 'null', n: 'g', a: '{"y":2}' },
  ),
  placed(
    'C61',
    'arguments come at an index where no call began, two calls are open',
    `as C50, ${fragments}`,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_b', n: 'g', a: '' },
    { i: 2, a: '{"x":1}' },
  ),
  placed(
    'C61',
    'arguments come at an index where no call began, after a whole call',
    `as C50, ${fragments}`,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '{"x":1}' },
    { i: 1, a: '{"y":2}' },
  ),
  placed(
    'C61',
    'two calls begin, and their arguments come at the next index each',
    `as C50, ${fragments}`,
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_b', n: 'g', a: '' },
    { i: 1, a: '{"x":1}' },
    { i: 2, a: '{"y":2}' },
  ),
  placed(
    'C61',
    'a call has no name',
    'as C11',
    unclear,
    { i: 0, id: 'call_a', n: 'f', a: '' },
    { i: 1, id: 'call_b', a: '{"y":2}' },
  ),
  {
    id: 'C60',
    wire: 'openai-chat',
    title: 'the finish reason is that of calls, and there is neither a call nor text',
    source: 'earendil-works/pi#9681, vllm-project/vllm#53255',
    events: [begin, ...end('tool_calls')],
    expected: { error: { code: 'missing_calls', retryable: true } },
  },
  {
    id: 'C60',
    wire: 'openai-chat',
    title: 'the finish reason is that of calls, and there is only text',
    source: 'jasonxu114514/opencode2api#27',
    events: [begin, chunk({ content: 'Let me look.' }), ...end('tool_calls')],
    expected: { error: { code: 'missing_calls', retryable: true }, text: 'Let me look.' },
  },
]

function called(...calls: readonly ExpectedCall[]): Answered {
  return { calls, finishReason: 'tool-calls' }
}

/** Pieces of calls, each in its own chunk. */
function placed(id: string, title: string, source: string, expected: Outcome, ...list: readonly Piece[]): Quirk {
  const events = [begin, ...list.map((piece) => pieces(piece)), ...end('tool_calls')]
  return { id, wire: 'openai-chat', title, source, events, expected }
}
