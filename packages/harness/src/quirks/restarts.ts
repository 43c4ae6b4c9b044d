/**
 * Quirks with more than one response in a stream: a gateway has lost its provider and repeated the request, or
 * announces a response twice.
 */

import type { WireName } from '../wires/wire-name.ts'
import * as claude from './anthropic-events.ts'
import { begin, chunk, DONE, pieces } from './chat-events.ts'
import type { Answered, ExpectedCall, Quirk, QuirkEvent } from './quirk.ts'
import * as responses from './responses-events.ts'

interface Call {
  readonly id: string
  readonly x: number
}

/** A response that calls `f`, in the format of its wire. */
interface Response {
  readonly begin: QuirkEvent
  readonly calls: readonly (readonly QuirkEvent[])[]
  /** The end of the response, and of the protocol. */
  readonly end: readonly QuirkEvent[]
}

const WIRES: readonly { wire: WireName; respond(id: string, ...calls: readonly Call[]): Response }[] = [
  { wire: 'openai-chat', respond: onChat },
  { wire: 'openai-responses', respond: onResponses },
  { wire: 'anthropic', respond: onMessages },
]

const a: Call = { id: 'call_a', x: 1 }
const again: Call = { id: 'call_b', x: 1 }
const other: Call = { id: 'call_b', x: 2 }

const error = { code: 'stream_restarted', retryable: true }
const restarted = 'vercel/ai#18331, apache/shenyu#6647, Roo-Code#10760'
const twice = 'bifrost#4556, litellm#32478, NemoClaw#6289'

const perWire: readonly Quirk[] = WIRES.flatMap(({ wire, respond }): readonly Quirk[] => {
  const first = respond('resp_1', a)
  const both = respond('resp_1', a, other)
  const second = respond('resp_2', again)
  const changed = respond('resp_2', { ...a, x: 2 })
  return [
    {
      id: 'T14',
      wire,
      title: 'a second response begins after a call of the first, and makes the call again',
      source: restarted,
      events: [first.begin, ...first.calls.flat(), ...all(second)],
      expected: { error, calls: [expected(a)] },
    },
    {
      id: 'T14',
      wire,
      title: 'a second response begins, and its call has the id of the first one and other arguments',
      source: restarted,
      events: [first.begin, ...first.calls.flat(), ...all(changed)],
      expected: { error, calls: [expected(a)] },
    },
    {
      id: 'T15',
      wire,
      title: 'the response begins twice, with the same id',
      source: twice,
      events: [first.begin, ...all(first)],
      expected: called(a),
    },
    {
      id: 'T15',
      wire,
      title: 'the response begins again after a call, with the same id, and goes on',
      source: twice,
      events: both.calls.flatMap((call) => [both.begin, ...call]).concat(both.end),
      expected: called(a, other),
    },
    {
      id: 'T16',
      wire,
      title: 'a second response follows after the end of the protocol',
      source: 'mnfst/llm-gateway#2072',
      events: [...all(first), ...all(second)],
      expected: called(a),
    },
    {
      id: 'T16',
      wire,
      title: 'a further call follows after the end of the protocol',
      source: 'as T13',
      events: [...all(first), ...(both.calls[1] ?? []), ...both.end],
      expected: called(a),
    },
  ]
})

/** On Responses every event that contains the response identifies it. */
const onFirst = onResponses('resp_1', a)
const onSecond = onResponses('resp_2', again)

const ofOtherResponse: readonly Quirk[] = [
  ...(['queued', 'in_progress'] as const).map(
    (status): Quirk => ({
      id: 'T18',
      wire: 'openai-responses',
      title: `a second response is ${status} after a call of the first, without its beginning`,
      source: `as T14, ${restarted}`,
      events: [
        onFirst.begin,
        ...onFirst.calls.flat(),
        responses.stateOf('resp_2', status),
        ...onSecond.calls.flat(),
        ...onSecond.end,
      ],
      expected: { error, calls: [expected(a)] },
    }),
  ),
  {
    id: 'T18',
    wire: 'openai-responses',
    title: 'a second response ends the stream of the first, and has another call',
    source: `as T14, ${restarted}`,
    events: [onFirst.begin, ...onFirst.calls.flat(), ...onSecond.end],
    expected: { error, calls: [expected(a)] },
  },
  {
    id: 'T17',
    wire: 'openai-responses',
    title: 'every event that contains the response has a new id for it',
    source: 'opencodex#995, codex-router#814 (Copilot)',
    events: [
      onFirst.begin,
      responses.stateOf('resp_x', 'in_progress'),
      ...onFirst.calls.flat(),
      ...onResponses('resp_y', a).end,
    ],
    expected: called(a),
  },
]

export const restartQuirks: readonly Quirk[] = [...perWire, ...ofOtherResponse]

function all({ begin, calls, end }: Response): QuirkEvent[] {
  return [begin, ...calls.flat(), ...end]
}

function expected({ id, x }: Call): ExpectedCall {
  return { id, name: 'f', input: { x } }
}

function called(...calls: readonly Call[]): Answered {
  return { calls: calls.map(expected), finishReason: 'tool-calls' }
}

function onChat(id: string, ...calls: readonly Call[]): Response {
  return {
    begin: { ...begin, id },
    calls: calls.map((call, i) => [
      { ...pieces({ i, id: call.id, n: 'f', a: '' }), id },
      { ...pieces({ i, a: inputOf(call) }), id },
    ]),
    end: [{ ...chunk({}, 'tool_calls'), id }, DONE],
  }
}

function onResponses(id: string, ...calls: readonly Call[]): Response {
  const items = calls.map((call, place) => ({
    text: inputOf(call),
    events: responses.call(place, call.id, 'f', `fc_${place}`),
  }))
  return {
    begin: responses.createdAs(id),
    calls: items.map(({ text, events }) => [
      events.added,
      events.delta(text),
      events.done(text),
      events.itemDone(text),
    ]),
    end: [responses.completedAs(id, ...items.map(({ text, events }) => events.item(text)))],
  }
}

function onMessages(id: string, ...calls: readonly Call[]): Response {
  return {
    begin: claude.startAs(id),
    calls: calls.map((call, index) => claude.toolUse(index, { id: call.id, name: 'f' }, inputOf(call))),
    end: claude.end('tool_use'),
  }
}

function inputOf({ x }: Call): string {
  return JSON.stringify({ x })
}
