/** Which quirks the official clients read wrongly; expected differences are data. */

import type { Quirk } from '../src/quirks.ts'

interface Loss {
  readonly id: string
  readonly wire: Quirk['wire']
  /** The beginning of the title, if only one form of the quirk is affected. */
  readonly title?: string
  /** The client's result: the error of its helper, or the wrong calls or text. */
  readonly throws?: string
  readonly gives?: object
}

const NO_INDEX = 'invalid tool call index'
const NO_TYPE = 'missing `type`'
const NO_MESSAGE = 'stream ended without producing a Message'
const NO_JSON = 'malformed server-sent event JSON'
const NO_ARGUMENTS = 'Unexpected end of JSON input'

/** Losses of the client's stream, event by event. */
export const chunkLosses: readonly Loss[] = [
  // It treats an event without a blank line after it as truncated.
  { id: 'T5', wire: 'anthropic' },
  // Pings, and events it does not support.
  { id: 'A1', wire: 'anthropic' },
  // It reads nothing after [DONE].
  { id: 'T16', wire: 'openai-chat' },
  { id: 'T19', wire: 'openai-chat', throws: NO_JSON },
  { id: 'T19', wire: 'openai-responses', throws: NO_JSON },
  { id: 'T19', wire: 'anthropic', title: 'the data of an event', throws: 'is not valid JSON' },
  // Events without a name.
  { id: 'T19', wire: 'anthropic', title: 'a comment as data lacks' },
  { id: 'T19', wire: 'anthropic', title: 'two events' },
  { id: 'T19', wire: 'anthropic', title: 'a word in', throws: 'is not valid JSON' },
  { id: 'T20', wire: 'anthropic', title: 'an error without the member error comes in the stream' },
  { id: 'T24', wire: 'anthropic', title: 'events' },
  { id: 'C64', wire: 'openai-chat', throws: "reading 'finish_reason'" },
]

/** Losses of the client's helper, which accumulates the events. */
export const helperLosses: readonly Loss[] = [
  { id: 'T19', wire: 'openai-chat', throws: NO_JSON },
  { id: 'T19', wire: 'openai-responses', throws: NO_JSON },
  { id: 'T19', wire: 'anthropic', title: 'the data of an event', throws: 'is not valid JSON' },
  // It reads neither events without a name nor text that is not an event.
  { id: 'T19', wire: 'anthropic', title: 'a comment as data lacks', throws: NO_MESSAGE },
  { id: 'T19', wire: 'anthropic', title: 'two events', gives: { text: '' } },
  { id: 'T24', wire: 'anthropic', title: 'events', gives: { text: '' } },
  { id: 'T24', wire: 'anthropic', throws: 'request ended without sending any chunks' },
  {
    id: 'T24',
    wire: 'openai-responses',
    title: 'the type',
    throws: 'Unhandled response stream event',
  },
  { id: 'T22', wire: 'anthropic', gives: { text: '' } },
  { id: 'T22', wire: 'openai-chat', gives: { text: '' } },
  { id: 'T5', wire: 'anthropic', throws: NO_MESSAGE },
  { id: 'C2', wire: 'openai-chat', throws: NO_INDEX },
  { id: 'C3', wire: 'openai-chat', throws: NO_INDEX },
  { id: 'C5', wire: 'openai-chat', throws: "Cannot read properties of undefined (reading 'id')" },
  { id: 'C9', wire: 'openai-chat', title: 'the full name comes again', throws: NO_INDEX },
  // The arguments are {}{"x":1}, [object Object], {"q{"q":"a{"q":"a"}, {"x":1}{ "x": 1 }, and {}"".
  { id: 'C13', wire: 'openai-chat', throws: 'after JSON at position 2' },
  { id: 'C15', wire: 'openai-chat', throws: NO_INDEX },
  { id: 'C16', wire: 'openai-chat', throws: '[object Object]' },
  { id: 'C17', wire: 'openai-chat', throws: 'in JSON at position 5' },
  { id: 'C18', wire: 'openai-chat', throws: 'after JSON at position' },
  { id: 'C26', wire: 'openai-chat', gives: { text: '[object Object][object Object][object Object]lo' } },
  { id: 'C28', wire: 'openai-chat', gives: { calls: [] } },
  { id: 'C44', wire: 'openai-chat', throws: NO_TYPE },
  { id: 'C47', wire: 'openai-chat', title: 'a name comes in two pieces, without an index', throws: NO_INDEX },
  {
    id: 'C47',
    wire: 'openai-chat',
    title: 'a name comes in two pieces, a placeholder',
    throws: 'after JSON at position 2',
  },
  // It uses the last piece of the name as the whole name.
  { id: 'C47', wire: 'openai-chat', gives: { calls: [{ name: '_file' }] } },
  { id: 'C48', wire: 'openai-chat', throws: 'after JSON at position 7' },
  // It uses the last id.
  { id: 'C49', wire: 'openai-chat', gives: { calls: [{ id: 'call_c' }] } },
  { id: 'C50', wire: 'openai-chat', title: 'the call has no index', throws: NO_INDEX },
  { id: 'C50', wire: 'openai-chat', throws: NO_TYPE },
  // It uses the index, whatever the id.
  {
    id: 'C51',
    wire: 'openai-chat',
    title: 'the pieces of two calls',
    gives: {
      calls: [
        { name: 'f', input: { y: 2 } },
        { name: 'g', input: { x: 1 } },
      ],
    },
  },
  { id: 'C51', wire: 'openai-chat', throws: NO_ARGUMENTS },
  // It keeps the id.
  { id: 'C52', wire: 'openai-chat', title: 'a whole call is', throws: NO_ARGUMENTS },
  { id: 'C52', wire: 'openai-chat', gives: { calls: [{ id: 'call_a' }, { id: 'call_a' }] } },
  { id: 'C53', wire: 'openai-chat', gives: { calls: [{ id: 'call_b' }] } },
  { id: 'C54', wire: 'openai-chat', title: 'the id of later pieces', throws: NO_INDEX },
  { id: 'C54', wire: 'openai-chat', gives: { calls: [{ id: 'null' }, { id: 'null' }] } },
  { id: 'C56', wire: 'openai-chat', throws: 'request ended without sending any chunks' },
  { id: 'C57', wire: 'openai-chat', title: 'the content is a list', gives: { text: 'Hel,l[object Object]' } },
  { id: 'C64', wire: 'openai-chat', throws: "reading 'finish_reason'" },
  { id: 'C57', wire: 'openai-chat', title: 'the text is', throws: 'missing role' },
  {
    id: 'C62',
    wire: 'openai-chat',
    title: 'the arguments of a call are next to its name',
    throws: "reading 'arguments'",
  },
  {
    id: 'C62',
    wire: 'openai-chat',
    title: 'the arguments of a call are named parameters, next',
    gives: { calls: [{ input: {} }] },
  },
  { id: 'C62', wire: 'openai-chat', throws: NO_ARGUMENTS },
  { id: 'C65', wire: 'openai-chat', gives: { text: '[object Object][object Object][object Object]' } },
  { id: 'C66', wire: 'openai-chat', throws: 'is not iterable' },
  { id: 'C63', wire: 'openai-chat', throws: NO_INDEX },
  { id: 'C57', wire: 'openai-chat', title: 'the content is', gives: { text: '[object Object]lo' } },
  { id: 'C57', wire: 'openai-chat', title: 'null is', throws: 'as it is null' },
  { id: 'C57', wire: 'openai-chat', throws: 'invalid choice index' },
  { id: 'G1', wire: 'openai-chat', throws: NO_INDEX },
  // It does not accept empty arguments.
  { id: 'G5', wire: 'openai-chat', throws: 'Unexpected end of JSON input' },
  { id: 'G6', wire: 'openai-chat', throws: 'Unexpected end of JSON input' },
  {
    id: 'A5',
    wire: 'anthropic',
    title: 'eager input streaming: arguments cut in a literal',
    gives: { calls: [{ input: { path: '/etc' } }] },
  },
  {
    id: 'A5',
    wire: 'anthropic',
    title: 'eager input streaming: arguments cut in a string',
    gives: { calls: [{ input: {} }] },
  },
  { id: 'A8', wire: 'anthropic', title: 'the first block has index 1', gives: { calls: [{ input: {} }] } },
  { id: 'A9', wire: 'anthropic', gives: { calls: [{ input: {} }, { input: {} }] } },
  // It also returns the call of the model that declined.
  { id: 'A11', wire: 'anthropic', gives: { calls: [{ id: 'toolu_a' }, { id: 'toolu_b' }] } },
  // It keeps what the start of the message contains, and reads the stop reason in one place.
  { id: 'A24', wire: 'anthropic', title: 'the start of the message contains a call, and no', gives: { text: '' } },
  {
    id: 'A24',
    wire: 'anthropic',
    title: 'the start of the message contains a call, and a',
    gives: { calls: [{ input: { x: 1 } }, { input: {} }] },
  },
  {
    id: 'A24',
    wire: 'anthropic',
    title: 'the start of the message contains a text, and a',
    gives: { text: 'Hm.Hm.' },
  },
  { id: 'A25', wire: 'anthropic', title: 'the stop reason is next', throws: "reading 'stop_reason'" },
  { id: 'A26', wire: 'anthropic', throws: 'request ended without sending any chunks' },
  { id: 'R3', wire: 'openai-responses', throws: 'expected a non-empty item_id' },
  { id: 'R7', wire: 'openai-responses', title: 'no item has an id', throws: 'missing output at index undefined' },
  { id: 'R7', wire: 'openai-responses', title: 'nothing identifies the calls', throws: 'expected a non-empty item_id' },
  { id: 'R7', wire: 'openai-responses', title: 'a call and the text', throws: 'Duplicate response output index 0' },
  { id: 'R8', wire: 'openai-responses', throws: 'Unexpected end of JSON input' },
  { id: 'R10', wire: 'openai-responses', title: 'the text comes', throws: 'missing output at index 0' },
  { id: 'R10', wire: 'openai-responses', title: 'text goes on', throws: 'missing output at index 0' },
  // It drops what the end of the response omits.
  { id: 'R10', wire: 'openai-responses', title: 'the arguments come with the beginning', gives: { calls: [] } },
  { id: 'R11', wire: 'openai-responses', gives: { calls: [] } },
  { id: 'R12', wire: 'openai-responses', throws: 'Unhandled response stream event' },
  {
    id: 'R15',
    wire: 'openai-responses',
    title: 'two calls at two places, each',
    throws: 'duplicate output item identity',
  },
  {
    id: 'R15',
    wire: 'openai-responses',
    title: 'two calls at two places share a call_id, and their',
    throws: 'missing output at index 0',
  },
  {
    id: 'R15',
    wire: 'openai-responses',
    title: 'two calls at two places share a call_id, and come',
    throws: 'duplicate output item identity',
  },
  { id: 'R15', wire: 'openai-responses', title: 'a call of another tool', throws: 'Duplicate response output index 0' },
  { id: 'R16', wire: 'openai-responses', throws: 'duplicate output item identity' },
  {
    id: 'R27',
    wire: 'openai-responses',
    title: 'a message begins empty, and its text is only in its part',
    throws: 'missing content at index 0',
  },
  { id: 'R28', wire: 'openai-responses', throws: 'request ended without sending any events' },
  { id: 'R29', wire: 'openai-responses', title: 'a call comes', throws: 'missing output at index 1' },
  { id: 'R29', wire: 'openai-responses', throws: 'expected a non-empty output item id' },
  // It uses the ids in the end of the response.
  {
    id: 'R17',
    wire: 'openai-responses',
    title: 'the end of the response has other ids',
    gives: { calls: [{ id: 'call_z' }] },
  },
  // It keeps the id.
  { id: 'A14', wire: 'anthropic', title: 'two calls', gives: { calls: [{ id: 'toolu_a' }, { id: 'toolu_a' }] } },
  { id: 'A14', wire: 'anthropic', title: 'a call of another tool', throws: 'after JSON at position 7' },
  { id: 'A15', wire: 'anthropic', title: 'a call starts under', throws: 'after JSON at position 7' },
  // It does not parse a given input, or appends its deltas to nothing.
  {
    id: 'A16',
    wire: 'anthropic',
    title: 'the start of the block has the whole input as JSON text, and no',
    gives: { calls: [{ input: '{"x":1}' }] },
  },
  {
    id: 'A16',
    wire: 'anthropic',
    title: 'the start of the block has the beginning',
    throws: 'after JSON at position 1',
  },
  { id: 'A17', wire: 'anthropic', title: 'the input of the only open call', gives: { calls: [{ input: {} }] } },
  { id: 'A17', wire: 'anthropic', title: 'each piece of the input', gives: { calls: [{ input: {} }] } },
  {
    id: 'A18',
    wire: 'anthropic',
    title: 'two equal calls have the id',
    gives: { calls: [{ id: 'null' }, { id: 'null' }] },
  },
  { id: 'A18', wire: 'anthropic', gives: { calls: [{ id: 'toolu_a' }, { id: 'toolu_a' }] } },
  { id: 'A21', wire: 'anthropic', title: 'message_delta comes again', throws: "reading 'stop_reason'" },
  { id: 'A21', wire: 'anthropic', title: 'the input is an object', throws: 'Cannot read properties of null' },
  {
    id: 'R18',
    wire: 'openai-responses',
    title: 'response.done contains a response that requires',
    throws: 'Unhandled response stream event',
  },
  {
    id: 'R18',
    wire: 'openai-responses',
    title: 'response.requires_action',
    throws: 'Unhandled response stream event',
  },
  { id: 'R19', wire: 'openai-responses', throws: 'missing output at index 1' },
  {
    id: 'R21',
    wire: 'openai-responses',
    title: 'a call comes again at another place after it has ended, with another',
    throws: 'missing output at index 1',
  },
  { id: 'R21', wire: 'openai-responses', title: 'two equal calls', throws: 'missing output at index 0' },
  { id: 'R21', wire: 'openai-responses', throws: 'duplicate output item identity' },
  { id: 'R22', wire: 'openai-responses', title: 'the arguments of an item', throws: '[object Object]' },
  { id: 'R22', wire: 'openai-responses', throws: 'expected a non-empty output item' },
  { id: 'R24', wire: 'openai-responses', throws: 'expected a non-empty item_id' },
  { id: 'A23', wire: 'anthropic', gives: { text: '', calls: [{ input: {} }] } },
  { id: 'T15', wire: 'anthropic', throws: 'Unexpected event order' },
  { id: 'T16', wire: 'anthropic', title: 'a second response', throws: 'Unexpected event order' },
  // It also returns what comes after the end.
  {
    id: 'T16',
    wire: 'anthropic',
    title: 'a further call',
    gives: { calls: [{ id: 'call_a' }, { id: 'call_b' }] },
  },
  { id: 'T16', wire: 'openai-responses', title: 'a second response', throws: 'response identity changed' },
  { id: 'T17', wire: 'openai-responses', throws: 'response identity changed' },
  {
    id: 'T16',
    wire: 'openai-responses',
    title: 'a further call',
    gives: { calls: [{ id: 'call_a' }, { id: 'call_b' }] },
  },
]

export function lostBy(losses: readonly Loss[], { id, wire, title }: Quirk): Loss | undefined {
  return losses.find((loss) => loss.id === id && loss.wire === wire && title.startsWith(loss.title ?? ''))
}
