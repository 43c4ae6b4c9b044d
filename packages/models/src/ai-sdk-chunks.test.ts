import { createAgent, type Model, tool } from '@meanwhile/core'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { chunked, raw } from '../test/ai-sdk.ts'
import { ask, failureOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { chatChunk, claude, responses, type TestWire } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

// What the raw chunks of a response decide, and what its parts do.

const usage = {}
const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage }
const shape = { name: 'AI_TypeValidationError' }
const unreadable = (error: object = {}) => ({ type: 'error', error: Object.assign(new Error('?'), shape, error) })
const partsOf = (id: string, name: string) => [
  { type: 'tool-input-start', id, toolName: name },
  { type: 'tool-call', toolCallId: id, toolName: name, input: '{"x":1}' },
]

/** The names of the tools that run, and the error. */
async function run(model: Model) {
  const ran: string[] = []
  const tools = ['f', 'g'].map((name) =>
    tool({ name, description: name, input: z.unknown(), execute: () => void (ran.includes(name) || ran.push(name)) }),
  )
  const error = await failureOf(createAgent({ model, tools, maxSteps: 2 }).run('Go'))
  return { ran, error }
}

const exact: readonly (readonly [provider: string, wire: TestWire])[] = [
  ['some.messages', claude],
  ['some.responses', responses],
]

test('the error of a provider keeps its words, also next to choices that are not a list (T20)', async () => {
  const error = { code: 401, message: 'Bad key' }
  const { model } = chunked('some.chat', [
    raw(chatChunk({ role: 'assistant' })),
    raw({ error, choices: {} }),
    unreadable(),
  ])
  expect(await run(aiSdk(model))).toMatchObject({ ran: [], error: { message: expect.stringContaining('Bad key') } })
})

test.each(exact)('%s: the call in chunks and parts runs', async (provider, wire) => {
  const { model } = chunked(provider, [...wire.call('{"x":1}').map(raw), ...partsOf('call_1', 'f'), finish])
  expect(await run(aiSdk(model))).toMatchObject({ ran: ['f'] })
})

test.each(
  exact.flatMap(
    ([provider, wire]) =>
      [
        [provider, 'a call that is only in its parts', wire, [...partsOf('call_1', 'f'), ...partsOf('other', 'g')]],
        [provider, 'a call that is only in its chunks', wire, []],
        [provider, 'a call with another name in its parts', wire, partsOf('call_1', 'g')],
      ] as const,
  ),
)('%s: %s fails the response, and nothing runs (P2)', async (provider, _, wire, parts) => {
  const { model } = chunked(provider, [...wire.call('{"x":1}').map(raw), ...parts, finish])
  const { ran, error } = await run(aiSdk(model))
  expect(error).toMatchObject({ name: 'ModelError', code: 'invalid_chunk', retryable: true })
  expect(ran).toEqual([])
})

test('on Chat, a call that is only in the parts fails the response, too (P2)', async () => {
  const { model } = chunked('some.chat', [raw(chatChunk({}, 'tool_calls')), ...partsOf('a', 'f'), finish])
  const { ran, error } = await run(aiSdk(model))
  expect(error).toMatchObject({ name: 'ModelError', code: 'invalid_chunk', retryable: true })
  expect(ran).toEqual([])
})

test('a provider whose name ends like that of a wire, but whose chunks are others, is read from its parts', async () => {
  const chunks = [raw({ type: 'message-start', id: '1' }), raw({ type: 'tool-call-start' })]
  const { model } = chunked('cohere.chat', [...chunks, ...partsOf('a', 'f'), finish])
  expect(await run(aiSdk(model))).toMatchObject({ ran: ['f'] })
  const failing = chunked('cohere.chat', [...chunks, unreadable(), ...partsOf('a', 'f'), finish])
  expect(await run(aiSdk(failing.model))).toMatchObject({ ran: [], error: { code: 'invalid_chunk' } })
})

const hello = [raw(chatChunk({ content: 'Hel' })), { type: 'text-delta', id: '0', delta: 'Hel' }]
const end = [raw(chatChunk({}, 'stop')), { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }]
const state = { message: 'still thinking' }

test.each([
  ['a comment', [raw(undefined), unreadable({ name: 'AI_JSONParseError', text: ': ping' })]],
  ['a word', [raw(undefined), unreadable({ name: 'AI_JSONParseError', text: 'alive' })]],
  ['a number', [raw(1_790_000_000), unreadable({ value: 1_790_000_000 })]],
  ['an object that nobody knows', [raw({ type: 'ping' }), unreadable({ value: { type: 'ping' } })]],
  ['a state in words', [raw(state), unreadable({ value: state })]],
])('%s is silence if the response goes on (qT19)', async (_, alive) => {
  for (const parts of [
    [...alive, ...alive, ...hello, ...end],
    [...hello, ...alive, ...alive, ...end],
  ]) {
    const { message } = await ask(aiSdk(chunked('some.chat', parts).model))
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hel' }], finishReason: 'stop' })
  }
})

test.each([
  ['words after which nothing follows', [raw(state), unreadable({ value: state })], 'still thinking'],
  ['a sentence', [raw(undefined), unreadable({ message: 'upstream timed out', text: 'upstream timed out' })], 'timed'],
  [
    'a comment with an event in it',
    [raw(undefined), unreadable({ message: 'cut', text: ': ping\n{"choices":[]}' })],
    'cut',
  ],
])('%s is an error with its words (qT19, qT20)', async (_, broken, words) => {
  const last = { type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage }
  const failure = await failureOf(ask(aiSdk(chunked('some.chat', [...hello, ...broken, last]).model)))
  expect(failure).toMatchObject({ name: 'ModelError', message: expect.stringContaining(words) })
})

test('data that only the host understands goes back to it in its message, and to no other provider (G12, qC59)', async () => {
  const blocks = [{ type: 'thinking', thinking: 'Hm.', signature: 's' }]
  const fields = { provider_specific_fields: { thought_signature: 't' } }
  const piece = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, ...fields }
  const parts = [
    raw(chatChunk({ reasoning_content: 'Hm.', thinking_blocks: blocks })),
    { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
    raw(chatChunk({ tool_calls: [piece] })),
    ...partsOf('a', 'f'),
    raw(chatChunk({}, 'tool_calls')),
    finish,
  ]
  const { model, asked } = chunked('litellm.chat', parts)
  const { message } = await ask(aiSdk(model))
  const messages = [message, { role: 'tool', callId: 'a', name: 'f', content: [] }] as const
  await ask(aiSdk(model), { messages })
  expect(asked[1]?.prompt[0]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.' },
      { toolName: 'f', providerOptions: { openaiCompatible: fields } },
    ],
    providerOptions: { openaiCompatible: { thinking_blocks: blocks } },
  })
  const other = chunked('openrouter.chat', parts)
  await ask(aiSdk(other.model), { messages })
  expect(other.asked[0]?.prompt[0]).not.toHaveProperty('providerOptions')
})

test('text of a chunk that its package does not read is read from the chunk (qC59)', async () => {
  const parts = [raw(chatChunk({ reasoning_text: 'Hm.' })), ...hello, ...end]
  const { message } = await ask(aiSdk(chunked('some.chat', parts).model))
  expect(message.content).toEqual([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Hel' },
  ])
})

const anthropics = realModels.filter(({ wire }) => wire === 'anthropic')

test.each(anthropics)('$title: a first event that it cannot read is retried (qT19)', async ({ model }) => {
  const fetch = async () => new Response('data: : ping\n\n', { headers: { 'content-type': 'text/event-stream' } })
  expect(await failureOf(ask(aiSdk(model(fetch))))).toMatchObject({ code: 'invalid_chunk', retryable: true })
})

test.each(anthropics)('$title: the answer of its tool json is text, and never a call (M14)', async ({ model }) => {
  const block = (index: number, content: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const events = [
    { type: 'message_start', message: { id: 'm', model: 'm', content: [], usage: { input_tokens: 1 } } },
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Here it is.' }),
    ...block(
      1,
      { type: 'tool_use', id: 'j', name: 'json', input: {} },
      { type: 'input_json_delta', partial_json: '{"city":' },
      { type: 'input_json_delta', partial_json: '"Bern"}' },
    ),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
  const script = [
    recordedResponse(
      'anthropic',
      events.map((event) => JSON.stringify(event)),
    ),
  ]
  const output = { name: 'final_answer', schema: { type: 'object' } }
  const { message } = await ask(aiSdk(model(mockModels({ script }).fetch)), { output })
  expect(message).toMatchObject({ content: [{ type: 'text', text: '{"city":"Bern"}' }], finishReason: 'stop' })
  expect(message.content).toHaveLength(1)
})
