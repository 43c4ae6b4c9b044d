/** What each library is given: tools, what the model answers, and what the tools return. */

import { call, end, respond, type ScriptResponse, say, think } from '@meanwhile/assemble/testing'
import type { PeerTool } from '../peers/driver.ts'

/** One input for a library. */
export interface Input {
  readonly name: string
  readonly tools: readonly PeerTool[]
  readonly script: readonly ScriptResponse[]
  /** What each call returns. */
  readonly result: string
}

type Schema = PeerTool['schema']

const CITY: Schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

const done = respond(say('Done.'))
const weather = (options: Partial<PeerTool> = {}): PeerTool => ({
  name: 'weather',
  description: 'The weather in a city.',
  schema: CITY,
  ...options,
})
const asks = respond(call('weather', { city: 'Bern' }))

function input(name: string, given: Partial<Input> = {}): Input {
  return { name, tools: [weather()], script: [asks, done], result: 'sunny', ...given }
}

/** A tool with this schema, which the model calls with this input. */
function withSchema(name: string, schema: Schema, asked: object): Input {
  return input(name, { tools: [weather({ schema })], script: [respond(call('weather', asked)), done] })
}

export const INPUTS: readonly Input[] = [
  input('an answer in text', { script: [done] }),
  input('a call and its result'),
  input('two calls in one response', {
    script: [respond(call('weather', { city: 'Bern' }), call('weather', { city: 'Rome' })), done],
  }),
  input('reasoning before a call', {
    script: [respond(think('Which city?'), call('weather', { city: 'Bern' })), done],
  }),
  input('text before a call', { script: [respond(say('I shall look.'), call('weather', { city: 'Bern' })), done] }),
  input('blank text before a call', { script: [respond(say('\n\n'), call('weather', { city: 'Bern' })), done] }),
  input('two responses that use one call id', {
    script: [
      respond(call('weather', { city: 'Bern' }, { id: 'call_a' })),
      respond(call('weather', { city: 'Rome' }, { id: 'call_a' })),
      done,
    ],
  }),
  input('a call without arguments', {
    tools: [weather({ schema: { type: 'object', properties: {} } })],
    script: [respond(call('weather', '')), done],
  }),
  input('arguments that are not JSON', { script: [respond(call('weather', '{"city":"Be')), done] }),
  input('arguments that are a list', { script: [respond(call('weather', '["Bern"]')), done] }),
  input('a call of a tool that does not exist', { script: [respond(call('wether', { city: 'Bern' })), done] }),
  input('a call that is cut off by the limit of tokens', {
    script: [respond(call('weather', '{"city":"Be'), end({ finishReason: 'length' })), done],
  }),
  input('an empty result', { result: '' }),
  input('a result with half a surrogate pair', { result: 'sunny \ud83c' }),
  withSchema('a tool whose schema has no properties', { type: 'object' }, {}),
  withSchema(
    'a tool whose schema is a union',
    { anyOf: [CITY, { type: 'object', properties: { zip: { type: 'string' } }, required: ['zip'] }] },
    { city: 'Bern' },
  ),
  withSchema(
    'a tool whose input has the member $top',
    { type: 'object', properties: { $top: { type: 'number' } } },
    { $top: 3 },
  ),
  withSchema(
    'a tool whose schema is of an older draft',
    {
      type: 'object',
      properties: {
        at: { type: 'array', items: [{ type: 'number' }, { type: 'number' }] },
        days: { type: 'number', minimum: 0, exclusiveMinimum: true },
      },
    },
    { days: 1 },
  ),
  withSchema(
    'a tool with a list of anything',
    { type: 'object', properties: { list: { type: 'array' } } },
    { list: [] },
  ),
  input('a tool whose name has a dot', {
    tools: [weather({ name: 'weather.now' })],
    script: [respond(call('weather.now', { city: 'Bern' })), done],
  }),
  input('a tool with a description of 2,000 characters', { tools: [weather({ description: 'w'.repeat(2_000) })] }),
  input('a tool without a description', { tools: [weather({ description: '' })] }),
  input('129 tools', {
    tools: [weather(), ...Array.from({ length: 128 }, (_, n) => weather({ name: `weather_${n}` }))],
  }),
]
