import {
  type AssistantPart,
  type ContentPart,
  DEFAULT_INPUT_LIMITS,
  type Message,
  type ModelRequest,
} from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness'
import { type Refusal, refusals } from '@meanwhile/harness/rules'
import { requestOn } from '@meanwhile/models/request'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hostedTargets } from './hosts.ts'

// Histories as several models have written them, and tools as MCP servers describe them, go to every host.

const text = fc.constantFrom('Hm.', '', ' ', '\n\n', 'a\ud83d', 'x'.repeat(50))

const file: fc.Arbitrary<ContentPart> = fc
  .constantFrom('image/png', 'image/svg+xml', 'image/*', 'application/pdf', 'text/csv', 'audio/wav', '')
  .chain((mediaType) =>
    fc
      .constantFrom('iVBORw0KGgo=', '', 'JVBERi0=', { url: 'https://example.com/a' }, { url: 'http://example.com/a' })
      .map((data) => ({ type: 'file', mediaType, data })),
  )

const content = fc.array(
  fc.oneof(
    text.map((text): ContentPart => ({ type: 'text', text })),
    file,
  ),
  { maxLength: 3 },
)

/** What the readers of each wire keep of an answer, under the name of their provider. */
const KEPT: Readonly<Record<WireName, readonly object[]>> = {
  anthropic: [{ signature: 'EqQB' }, { data: 'EqQB' }],
  'openai-chat': [
    { field: 'reasoning_content' },
    { field: 'reasoning' },
    { field: 'content' },
    { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] },
    { extra_content: { google: { thought_signature: 'c2ln' } } },
  ],
  'openai-responses': [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA', status: 'completed', content: null },
    { type: 'reasoning', id: '', summary: [] },
    { phase: 'commentary' },
    { itemId: 'msg_1' },
  ],
}

const metadata = fc
  .constantFrom(...hostedTargets)
  .chain(({ wire, model }) => fc.constantFrom(...KEPT[wire]).map((own) => ({ [model.provider]: { ...own } })))

const maybe = fc.option(metadata, { nil: undefined })

/** The ids of all kinds of providers; they repeat. */
const callId = fc.constantFrom(
  'toolu_01A',
  'call_1',
  'functions.f:0',
  'abcdefgh1',
  'a b/c',
  'x'.repeat(100),
  'é',
  '',
  'y',
)

const input = fc.oneof(
  fc.constant({}),
  fc.constant({ $top: 1, 'filter[id]': 'a\udc00' }),
  fc.constant([1]),
  fc.constant('{"a":'),
)

const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  text.map((text): AssistantPart => ({ type: 'text', text })),
  fc.tuple(text, maybe).map(
    ([text, providerMetadata]): AssistantPart => ({
      type: 'reasoning',
      text,
      ...(providerMetadata && { providerMetadata }),
    }),
  ),
)

const call: fc.Arbitrary<Extract<AssistantPart, { type: 'tool-call' }>> = fc
  .tuple(callId, fc.constantFrom('f', 'g', 'gone', ''), input)
  .map(([id, name, input]) => ({
    type: 'tool-call',
    id,
    name,
    input,
    ...(typeof input === 'string' && { inputError: 'not valid JSON' }),
  }))

/** An answer, and the results of its calls. */
const step: fc.Arbitrary<readonly Message[]> = fc
  .tuple(
    fc.array(part, { maxLength: 3 }),
    fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
    fc.array(part, { maxLength: 1 }),
    fc.array(fc.tuple(content, fc.boolean()), { minLength: 3, maxLength: 3 }),
  )
  .map(([before, calls, after, results]) => [
    {
      role: 'assistant',
      content: [...before, ...calls, ...after],
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
    },
    ...calls.map(({ id, name }, place): Message => {
      const [content, isError] = results[place] ?? [[], false]
      return { role: 'tool', callId: id, name, content, ...(isError && { isError }) }
    }),
  ])

const turn = fc
  .tuple(fc.oneof(text, content), fc.array(step, { maxLength: 3 }))
  .map(([content, steps]): readonly Message[] => [{ role: 'user', content }, ...steps.flat()])

/** It does not end with an answer: to continue one is a wish of the user that not every model grants. */
const history = fc
  .tuple(fc.array(turn, { minLength: 1, maxLength: 3 }), text)
  .map(([turns, last]): readonly Message[] => {
    const messages = turns.flat()
    return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: last }] : messages
  })

const inputSchema = fc.constantFrom<ModelRequest['tools'][number]['inputSchema']>(
  { type: 'object' },
  { type: 'object', properties: { $top: { type: 'number' }, 'filter[id]': {} }, required: ['$top'] },
  {
    anyOf: [
      { type: 'object', properties: { a: { type: 'string' } } },
      { type: 'object', properties: { b: {} } },
    ],
  },
  {
    type: 'object',
    properties: { a: { type: 'array', items: [] }, b: { type: 'number', minimum: 1, exclusiveMinimum: true } },
  },
  {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { a: { type: ['string', 'null'] } },
  },
  { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { enum: ['x', 1, null] } } },
)

const tools = fc.option(
  fc
    .tuple(inputSchema, inputSchema)
    .map((schemas) =>
      schemas.map((inputSchema, place) => ({ name: place === 0 ? 'f' : 'g', description: 'd', inputSchema })),
    ),
  { nil: [] },
)

const request = fc.record({
  instructions: text,
  messages: history,
  tools,
  toolChoice: fc.constantFrom<ModelRequest['toolChoice']>('auto', 'none', 'required', { tool: 'f' }),
  settings: fc.constantFrom<ModelRequest['settings']>(
    {},
    { maxTokens: 8_000, seed: 7, parallelToolCalls: false },
    { maxTokens: Infinity, stopSequences: [], parallelToolCalls: true },
    { maxTokens: 8_000, providerOptions: { anthropic: { thinking: { type: 'enabled', budget_tokens: 2_000 } } } },
  ),
})

/** Converse requires tools if the history has calls. Our adapter for Bedrock writes the body of Messages. */
const OF_CONVERSE = 'messages/tools-missing'

test('no request of a random history is refused, on any host (W13, W14, W15, W16, W17, W18, W19, W20)', () => {
  fc.assert(
    fc.property(request, (given) => {
      const refused = hostedTargets.flatMap(({ title, wire, model, address }): (Refusal & { title: string })[] => {
        const body = requestOn(wire, {
          ...given,
          model,
          inputLimits: DEFAULT_INPUT_LIMITS,
          takenIds: new Set(),
          signal: new AbortController().signal,
          omitsFiles: true,
        })
        return refusals(wire, body, { ...address, sure: ['certain', 'host'] })
          .filter(({ rule }) => rule !== OF_CONVERSE)
          .map((one) => ({ title, ...one }))
      })
      expect(refused.map(({ title, rule, path, message }) => `${title}: ${rule} ${path} ${message}`)).toEqual([])
    }),
    propertyRuns({ small: 7, middle: 10, whole: 12_000 / hostedTargets.length }),
  )
})
