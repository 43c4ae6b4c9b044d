/** Quirks of hosts that imitate OpenAI Responses: the events of a call refer to it in another way, or not at all. */

import type { Failed, Quirk } from './quirk.ts'
import { calledBoth, f, g, second, whole, wire } from './responses-calls.ts'
import { completed, created } from './responses-events.ts'

const begun = [created, whole.added, second.added]

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
    expected: calledBoth,
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
    expected: calledBoth,
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
