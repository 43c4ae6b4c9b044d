/** Quirks of the transport on any wire: cuts, comments, and missing ends. */

import type { WireName } from '../wires/wire-name.ts'
import { WIRES } from '../wires/wires.ts'
import * as claude from './anthropic-events.ts'
import { chunk, DONE, end } from './chat-events.ts'
import type { Outcome, Quirk, QuirkEvent } from './quirk.ts'
import { completed, created, message, messageItem } from './responses-events.ts'

/** 東京 in two deltas on each wire, between the beginning and the end of the response. */
const ANSWERS: readonly { wire: WireName; begin: QuirkEvent[]; said: QuirkEvent[]; ended: QuirkEvent[] }[] = [
  {
    wire: 'openai-chat',
    begin: [chunk({ role: 'assistant', content: '' })],
    said: [chunk({ content: '東' }), chunk({ content: '京' })],
    ended: [...end('stop')],
  },
  {
    wire: 'openai-responses',
    begin: [created],
    said: [...message('東', '京')],
    ended: [completed(messageItem('東京'))],
  },
  {
    wire: 'anthropic',
    begin: [claude.start],
    said: [...claude.text(0, '東', '京')],
    ended: [...claude.end('end_turn')],
  },
]

const answered: Outcome = { text: '東京', calls: [], finishReason: 'stop' }
const silent: Outcome = { error: { retryable: true }, text: '東京' }

const idle = 'opencode#37580, anthropic-sdk-typescript#1206, octos#29, bobbit#536'
const comments = 'openai-go#227, NeuralNote#249'
const unterminated = 'openai-node#2725, gemini-cli#29059, req_llm#462'

/** Each of them on every wire. */
export const transportQuirks: readonly Quirk[] = ANSWERS.flatMap(({ wire, begin, said, ended }): readonly Quirk[] => {
  const events = [...begin, ...said, ...ended]
  return [
    {
      id: 'T1',
      wire,
      title: 'a write ends inside a character',
      source: 'braintrust-sdk-javascript#2091, lobehub#18640, claude-code-router#1672',
      events,
      slice: { character: 1 },
      expected: answered,
    },
    {
      id: 'T2',
      wire,
      title: 'a write ends inside an event',
      source: 'lobehub#18640',
      events,
      slice: { at: [12, 20] },
      expected: answered,
    },
    {
      id: 'T4',
      wire,
      title: 'comments come between the events, and fields without a space after their colon',
      source: comments,
      events: [': OPENROUTER PROCESSING\n\n', ...begin, ':\n\n', ...said.map((event) => tight(wire, event)), ...ended],
      expected: answered,
    },
    {
      id: 'T4',
      wire,
      title: 'after a while only comments come',
      source: comments,
      events: [...begin, ...said],
      ending: { end: 'stall', comments: 10 },
      expected: silent,
    },
    {
      id: 'T19',
      wire,
      title: 'comments come as data',
      source: 'anomalyco/opencode#50871, mnfst/llm-gateway#2053',
      events: [...begin, ...said, ...ended].flatMap((event) => ['data: : keepalive\n\n', event]),
      expected: answered,
    },
    {
      id: 'T19',
      wire,
      title: 'the data of an event of another kind is a word',
      source: 'as T19',
      events: ['event: heartbeat\ndata: alive\n\n', ...begin, 'event: heartbeat\ndata: 1\n\n', ...said, ...ended],
      expected: answered,
    },
    {
      id: 'T19',
      wire,
      title: 'after a while only comments come, as data',
      source: `as T4, ${comments}`,
      events: [...begin, ...said, 'data: : OPENROUTER PROCESSING\n\n'],
      ending: { end: 'stall' },
      expected: silent,
    },
    {
      id: 'T19',
      wire,
      title: 'a comment as data lacks its blank line, so the next event is part of it',
      source: 'as T19',
      events: [...begin, ...glued(wire, said, 'data: : keepalive\n'), ...glued(wire, ended, 'data: : keepalive\n')],
      expected: answered,
    },
    {
      id: 'T19',
      wire,
      title: 'two events lack the blank line between them',
      source: 'as T19',
      events: [...begin, said.map((event) => `data: ${dataOf(wire, event)}\n`).join(''), '\n', ...ended],
      expected: answered,
    },
    {
      id: 'T24',
      wire,
      title: 'events of the response are named ping',
      source: 'as T19',
      events: [...begin, ...glued(wire, said, 'event: ping\n'), ...ended],
      expected: answered,
    },
    {
      id: 'T19',
      wire,
      title: 'a word in an event of another kind lacks its blank line, so the next event is part of it',
      source: 'as T19',
      events: [...begin, ...said, ...glued(wire, ended, 'event: heartbeat\ndata: alive\n')],
      expected: { error: { code: 'invalid_chunk', retryable: true }, text: '東京' },
    },
    ...(wire === 'openai-chat' ? [] : [onlyNamed(wire, events)]),
    {
      id: 'T22',
      wire,
      title: 'an event comes without its field: only as JSON',
      source: 'as T12',
      events: [...begin, ...said.map((event) => `${dataOf(wire, event)}\n\n`), ...ended],
      expected: answered,
    },
    {
      id: 'T19',
      wire,
      title: 'an event is a sentence, and not a comment',
      source: 'as T19',
      events: [...begin, ...said, 'data: upstream timed out\n\n', ...ended],
      expected: { error: { code: 'invalid_chunk', retryable: true }, text: '東京' },
    },
    {
      id: 'T5',
      wire,
      title: 'the stream ends without a blank line after its last event',
      source: unterminated,
      events: [...begin, ...said, ...unended(wire, ended)],
      expected: answered,
    },
    {
      id: 'T7',
      wire,
      title: 'after a while nothing comes, and the connection stays open',
      source: idle,
      events: [...begin, ...said],
      ending: { end: 'stall' },
      expected: silent,
    },
    {
      id: 'T13',
      wire,
      title: 'the protocol has ended, and the connection stays open',
      source: 'ccLoad#81, confidential-model-router#446',
      events,
      ending: { end: 'stall' },
      expected: answered,
    },
  ]
})

function onlyNamed(wire: WireName, events: readonly QuirkEvent[]): Quirk {
  return {
    id: 'T24',
    wire,
    title: 'the type of an event is only its name',
    source: 'as T19',
    events: events.map((event) => frame(wire, event).replace(/"type":"[^"]*",?/, '')),
    expected: answered,
  }
}

/** The last event without its blank line, and no end of the protocol after it. */
function unended(wire: WireName, ended: readonly QuirkEvent[]): readonly QuirkEvent[] {
  const events = ended.filter((event) => event !== DONE)
  return events.map((event, i) => (i === events.length - 1 ? frame(wire, event).trimEnd() : event))
}

function tight(wire: WireName, event: QuirkEvent): string {
  return frame(wire, event).replaceAll(/^(event|data): /gm, '$1:')
}

function frame(wire: WireName, event: QuirkEvent): string {
  return typeof event === 'string' ? event : WIRES[wire].recordedFrame(JSON.stringify(event))
}

/** Each event after these lines, without an empty line and a name between them. */
function glued(wire: WireName, events: readonly QuirkEvent[], lines: string): readonly QuirkEvent[] {
  return events.map((event) => `${lines}data: ${dataOf(wire, event)}\n\n`)
}

function dataOf(wire: WireName, event: QuirkEvent): string {
  return frame(wire, event)
    .replace(/^(event: .*\n)?data: /, '')
    .trimEnd()
}
