/** Quirks of hosts that imitate OpenAI Responses: the events of a call refer to it in another way, or not at all. */

import type { Answered, Failed, Quirk } from './quirk.ts'
import { call, completed, created } from './responses-events.ts'

const wire = 'openai-responses'
const f = { id: 'call_a', name: 'f' }
const g = { id: 'call_b', name: 'g' }

const first = call(0, 'call_a', 'f', 'fc_1')
const second = call(1, 'call_b', 'g', 'fc_2')
const begun = [created, first.added, second.added]

const both: Answered = {
  calls: [
    { ...f, input: { x: 1 } },
    { ...g, input: { y: 2 } },
  ],
  finishReason: 'tool-calls',
}
const unclear: Failed = {
  error: { code: 'invalid_chunk', retryable: true },
  calls: [
    { ...f, input: {} },
    { ...g, input: {} },
  ],
}

export const responsesReferenceQuirks: readonly Quirk[] = [
  {
    id: 'R24',
    wire,
    title: 'the arguments of two calls have only their call_id, and interleave',
    source: 'as R3',
    events: [
      ...begun,
      piece({ call_id: 'call_a', delta: '{"x"' }),
      piece({ call_id: 'call_b', delta: '{"y"' }),
      piece({ call_id: 'call_a', delta: ':1}' }),
      piece({ call_id: 'call_b', delta: ':2}' }),
      completed(),
    ],
    expected: both,
  },
  {
    id: 'R24',
    wire,
    title: 'the ends of two calls have only their call_id, and the second call ends first',
    source: 'as R3',
    events: [
      ...begun,
      { type: 'response.function_call_arguments.done', call_id: 'call_b', arguments: '{"y":2}' },
      { type: 'response.function_call_arguments.done', call_id: 'call_a', arguments: '{"x":1}' },
      completed(),
    ],
    expected: both,
  },
  {
    id: 'R24',
    wire,
    title: 'arguments have the item id of one call and the call_id of another',
    source: 'as R20',
    events: [...begun, piece({ item_id: 'fc_1', call_id: 'call_b', delta: '{"x":1}' }), completed()],
    expected: unclear,
  },
  {
    id: 'R24',
    wire,
    title: 'arguments have the call_id of one call and the place of another',
    source: 'as R20',
    events: [...begun, piece({ output_index: 0, call_id: 'call_b', delta: '{"x":1}' }), completed()],
    expected: unclear,
  },
  {
    id: 'R25',
    wire,
    title: 'arguments refer to nothing, and two calls are open',
    source: 'as R7',
    events: [...begun, piece({ delta: '{"x":1}' }), completed()],
    expected: unclear,
  },
]

/** A piece of arguments with these members. */
function piece(members: object): object {
  return { type: 'response.function_call_arguments.delta', ...members }
}
