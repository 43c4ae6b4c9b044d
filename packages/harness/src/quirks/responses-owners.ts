/** Quirks of OpenAI Responses, and of hosts that imitate it: it is in doubt which call arguments belong to. */

import type { Quirk } from './quirk.ts'
import { called, f, g, said, second, whole, wire } from './responses-calls.ts'
import { call, completed, completedAs, created, createdAs, itemAdded, itemDone } from './responses-events.ts'

const error = { code: 'invalid_chunk', retryable: true }

const again = call(1, 'call_a', 'f', 'fc_1')
const anew = call(1, 'call_a', 'f', 'fc_2')

const twice = 'as LocalAI#9722'
const strays = 'as pipecat#4688, dirac#215'

export const responsesOwnerQuirks: readonly Quirk[] = [
  {
    id: 'R19',
    wire,
    title: 'the arguments of the only call come at places that nobody announced, without an item id',
    source: strays,
    events: [created, whole.added, stray(1, '{"x":'), stray(2, '1}'), whole.done(''), whole.itemDone(''), completed()],
    expected: called,
  },
  {
    id: 'R19',
    wire,
    title: 'the rest of the arguments comes at a place that nobody announced, and the end repeats all of them',
    source: strays,
    events: [created, whole.added, whole.delta('{"x":'), stray(1, '1}'), whole.done('{"x":1}'), completed()],
    expected: called,
  },
  {
    id: 'R19',
    wire,
    title: 'arguments come before their call is announced, while another call is open',
    source: strays,
    events: [
      created,
      whole.added,
      stray(1, '{"y":2}'),
      second.added,
      whole.delta('{"x":1}'),
      whole.itemDone('{"x":1}'),
      second.itemDone(''),
      completed(),
    ],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { ...g, input: { y: 2 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'R19',
    wire,
    title: 'the arguments have the id of an item that nobody announced',
    source: strays,
    events: [created, whole.added, { ...second.delta('{"x":1}'), item_id: 'fc_9' }, whole.itemDone(''), completed()],
    expected: { error, calls: [{ ...f, input: {} }] },
  },
  {
    id: 'R19',
    wire,
    title: 'the arguments of one of two calls come at a place that nobody announced',
    source: strays,
    events: [created, whole.added, second.added, stray(2, '{"x":1}'), whole.itemDone(''), completed()],
    expected: {
      error,
      calls: [
        { ...f, input: {} },
        { ...g, input: {} },
      ],
    },
  },
  {
    id: 'R19',
    wire,
    title: 'arguments come for a call that has ended with other ones',
    source: strays,
    events: [
      created,
      whole.added,
      whole.done('{"x":1}'),
      whole.delta('{"x":2}'),
      whole.itemDone('{"x":1}'),
      completed(),
    ],
    expected: { error, calls: called.calls },
  },
  {
    id: 'R19',
    wire,
    title: 'the arguments of two calls come at the next place each, without an item id',
    source: strays,
    events: [created, whole.added, second.added, stray(1, '{"x":1}'), stray(2, '{"y":2}'), completed()],
    expected: {
      error,
      calls: [
        { ...f, input: {} },
        { ...g, input: { x: 1 } },
      ],
    },
  },
  {
    id: 'R20',
    wire,
    title: 'the arguments of two calls have the item id of the other call',
    source: 'opencode#45013',
    events: [
      created,
      whole.added,
      second.added,
      { ...whole.delta('{"x":1}'), item_id: 'fc_2' },
      { ...second.delta('{"y":2}'), item_id: 'fc_1' },
      whole.itemDone('{"x":1}'),
      second.itemDone('{"y":2}'),
      completed(whole.item('{"x":1}'), second.item('{"y":2}')),
    ],
    expected: {
      error,
      calls: [
        { ...f, input: {} },
        { ...g, input: {} },
      ],
    },
  },
  {
    id: 'R20',
    wire,
    title: 'the item of a call has other arguments than its end',
    source: 'as R17',
    events: [created, whole.added, whole.done('{"x":1}'), whole.itemDone('{"x":2}'), completed()],
    expected: { error, calls: called.calls },
  },
  {
    id: 'R21',
    wire,
    title: 'a call comes again at another place after it has ended, with its ids',
    source: twice,
    events: [
      created,
      ...said(whole, '{"x":1}'),
      again.added,
      again.delta('{ "x": 1 }'),
      again.itemDone('{"x":1}'),
      completed(),
    ],
    expected: called,
  },
  {
    id: 'R21',
    wire,
    title: 'a call comes again at another place after it has ended, with another item id',
    source: twice,
    events: [
      created,
      ...said(whole, '{"x":1}'),
      anew.itemDone('{"x":1}'),
      completed(whole.item('{"x":1}'), anew.item('{"x":1}')),
    ],
    expected: called,
  },
  {
    id: 'R21',
    wire,
    title: 'a call ends without arguments, and comes whole at another place, with its call_id',
    source: twice,
    events: [
      created,
      whole.added,
      whole.done(''),
      whole.itemDone(''),
      anew.added,
      anew.itemDone('{"x":1}'),
      completed(),
    ],
    expected: called,
  },
  {
    id: 'R21',
    wire,
    title: 'two equal calls have the call_id "null"',
    source: 'zed#53605 (kind)',
    events: [
      created,
      call(0, 'null', 'f', 'fc_1').itemDone('{"x":1}'),
      call(1, 'null', 'f', 'fc_2').itemDone('{"x":1}'),
      completed(),
    ],
    expected: {
      calls: [
        { name: 'f', input: { x: 1 } },
        { name: 'f', input: { x: 1 } },
      ],
      finishReason: 'tool-calls',
    },
  },
  {
    id: 'R22',
    wire,
    title: 'the arguments of an item are an object',
    source: 'as C16',
    events: [
      created,
      itemAdded(0, { ...whole.item('', 'in_progress'), arguments: {} }),
      itemDone(0, { ...whole.item(''), arguments: { x: 1 } }),
      completed({ ...whole.item(''), arguments: { x: 1 } }),
    ],
    expected: called,
  },
  {
    id: 'R22',
    wire,
    title: 'places are text, ids are numbers, and members are null',
    source: 'as C16',
    events: [
      created,
      itemAdded(0, { ...whole.item('', 'in_progress'), id: 7, arguments: null }),
      { ...whole.delta(''), output_index: '0', item_id: 7, delta: null },
      { ...whole.delta(''), output_index: '0', item_id: 7, delta: { x: 1 } },
      { type: 'response.output_item.added', output_index: null, item: null },
      itemDone(0, { ...whole.item('{"x":1}'), id: '7' }),
      completed(),
    ],
    expected: called,
  },
  {
    id: 'R22',
    wire,
    title: 'the ids of the response and of a call are numbers',
    source: 'as C16',
    events: [
      createdAs(7),
      itemAdded(0, { ...whole.item('', 'in_progress'), call_id: 3 }),
      whole.delta('{"x":1}'),
      itemDone(0, { ...whole.item('{"x":1}'), call_id: 3 }),
      completedAs(7),
    ],
    expected: { ...called, calls: [{ id: '3', name: 'f', input: { x: 1 } }] },
  },
]

/** A piece of arguments with nothing but a place. */
function stray(place: number, delta: string): object {
  return { type: 'response.function_call_arguments.delta', output_index: place, delta }
}
