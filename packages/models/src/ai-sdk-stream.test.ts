import type { ModelEvent } from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { handMade, readParts, VERSIONS } from '../test/ai-sdk.ts'
import { ask, bodyOf, failureOf, requestTo } from '../test/ask.ts'
import { chat, responses } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const usage = { inputTokens: 1, outputTokens: 2 }
const calls = { type: 'finish', finishReason: 'tool-calls', usage } as const
const stop = { type: 'finish', finishReason: 'stop', usage } as const
const sealed = { type: 'tool-call', id: 'c1', name: 'f', input: { x: 1 } }

test.each(VERSIONS)('%s: the input closes in its deltas, and only its call part seals it (G3, G4)', async (version) => {
  const { events, message } = await readParts(
    [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'unsupported setting' }] },
      { type: 'tool-input-start', id: 'c1', toolName: 'f' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"x"' },
      { type: 'tool-input-delta', id: 'c1', delta: ':1}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-input-start', id: 'c2', toolName: 'g' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'g', input: '{}' },
      calls,
    ],
    version,
  )
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'c1', name: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x"' },
    { type: 'tool-input-delta', id: 'c1', delta: ':1}' },
    { type: 'tool-input-closed', call: sealed },
    { type: 'tool-input-start', id: 'c2', name: 'g' },
    { type: 'tool-call', call: sealed },
    { type: 'tool-call', call: { type: 'tool-call', id: 'c2', name: 'g', input: {} } },
  ])
  expect(message).toMatchObject({ content: [sealed, { id: 'c2' }], finishReason: 'tool-calls' })
})

test('an empty input that did not arrive in pieces is sealed only by the end (G4, qA10)', async () => {
  const parts = [
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-end', id: 'c1' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{}' },
  ] as const
  const begun = { type: 'tool-input-start', id: 'c1', name: 'f' }
  const cut = await readParts([...parts, { type: 'finish', finishReason: 'length', usage }])
  expect(cut.events).toEqual([begun])
  const { events } = await readParts([...parts, calls])
  expect(events).toEqual([begun, { type: 'tool-call', call: { ...sealed, input: {} } }])
  const told = [parts[0], { type: 'tool-input-delta', id: 'c1', delta: '{}' }, ...parts.slice(1)] as const
  const early = await readParts([...told, { type: 'finish', finishReason: 'length', usage }])
  expect(early.events.at(-1)).toEqual({ type: 'tool-call', call: { ...sealed, input: {} } })
})

test('a call that arrives whole, with its input as text or as an object, is reported once (qG1)', async () => {
  const { message } = await readParts([
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'f', input: { x: 2 } },
    { type: 'tool-call', toolCallId: 'c3', toolName: 'f', input: '' },
    calls,
  ])
  expect(message.content).toEqual([
    sealed,
    { ...sealed, id: 'c2', input: { x: 2 } },
    { ...sealed, id: 'c3', input: {} },
  ])
})

const partial = [
  { type: 'tool-input-start', id: 'c1', toolName: 'f' },
  { type: 'tool-input-delta', id: 'c1', delta: '{"x":' },
  { type: 'tool-input-delta', id: 'c1', delta: '1' },
] as const
const rest = { type: 'tool-input-delta', id: 'c1', delta: '}' } as const
const whole = { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' } as const
const next = [
  { type: 'tool-input-start', id: 'c2', toolName: 'g' },
  { type: 'tool-call', toolCallId: 'c2', toolName: 'g', input: '{}' },
] as const

test.each([
  ['at the next name', [...partial, rest, whole, ...next, calls]],
  ['at the finish', [...partial, rest, ...next, whole, calls]],
  ['at the next name, although the last piece is missing', [...partial, whole, ...next, calls]],
])('partial arguments whose input never ends are one whole call, complete %s (qG2)', async (_, parts) => {
  const { events, message } = await readParts(parts)
  const other = { type: 'tool-call', id: 'c2', name: 'g', input: {} }
  expect(message).toMatchObject({ content: [sealed, other], finishReason: 'tool-calls' })
  expect(events.filter((event) => event.type === 'tool-call')).toHaveLength(2)
})

test('partial arguments are complete at the finish even if no part marks it (qG2)', async () => {
  const { events, message } = await readParts([...partial, rest, calls])
  expect(message).toMatchObject({ content: [sealed], finishReason: 'tool-calls' })
  expect(events.at(-1)).toEqual({ type: 'tool-call', call: sealed })
})

test('a call whose arguments stay empty has none (qG5)', async () => {
  const { message } = await readParts([
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '' },
    { type: 'tool-input-end', id: 'c1' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '' },
    calls,
  ])
  expect(message.content).toEqual([{ ...sealed, input: {} }])
})

test('a stream whose last frame was cut is an error, and the open call was never sealed (qG5)', async () => {
  const { model } = handMade('v4', partial)
  const events: ModelEvent[] = []
  const failure = await failureOf(
    (async () => {
      for await (const event of aiSdk(model).stream(requestTo(aiSdk(model)))) events.push(event)
    })(),
  )
  expect(failure).toMatchObject({ code: 'stream_truncated', retryable: true, partial: { content: [{ name: 'f' }] } })
  expect(events.map((event) => event.type)).toEqual(['tool-input-start', 'tool-input-delta', 'tool-input-delta'])
})

test('the whole input overrides the pieces it came in (G6)', async () => {
  const { message } = await readParts([
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x":0}' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    calls,
  ])
  expect(message.content).toEqual([sealed])
})

test('an empty input does not override the pieces (qR11)', async () => {
  const { message } = await readParts([...partial, rest, { ...whole, input: '{}' }, calls])
  expect(message.content).toEqual([sealed])
})

test('pieces that are not JSON are not read as JSON', async () => {
  const { events, message } = await readParts([
    { type: 'tool-input-start', id: 'c1', toolName: 'f', inputEncoding: 'text' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"not":"this"}' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    calls,
  ])
  expect(events.map((event) => event.type)).not.toContain('tool-input-closed')
  expect(message.content).toEqual([sealed])
})

const onChat = [
  { type: 'tool-input-start', id: 'c1', toolName: 'f' },
  { type: 'tool-input-delta', id: 'c1', delta: '{"x":1}' },
  { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
  { type: 'tool-call', toolCallId: 'c2', toolName: 'f', input: '{"x":2}' },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'More.' },
] as const

test('on the Chat wire a call part that is sent when the input parses seals nothing, the end does (G4)', async () => {
  const { model } = handMade('v2', [...onChat, calls], { provider: 'deepseek.chat' })
  const { events, message } = await ask(aiSdk(model))
  const other = { ...sealed, id: 'c2', input: { x: 2 } }
  expect(events.slice(2)).toEqual([
    { type: 'tool-input-closed', call: sealed },
    { type: 'tool-input-start', id: 'c2', name: 'f' },
    { type: 'tool-input-delta', id: 'c2', delta: '{"x":2}' },
    { type: 'tool-input-closed', call: other },
    { type: 'text-delta', delta: 'More.' },
    { type: 'tool-call', call: sealed },
    { type: 'tool-call', call: other },
  ])
  expect(message.content).toEqual([sealed, other, { type: 'text', text: 'More.' }])
})

test('on the Chat wire an end that does not allow calls seals none (G4, qC22)', async () => {
  const { model } = handMade('v4', [...onChat, { ...calls, finishReason: { unified: 'length', raw: 'length' } }], {
    provider: 'deepseek.chat',
  })
  const { events, message } = await ask(aiSdk(model))
  expect(events.map((event) => event.type)).not.toContain('tool-call')
  expect(message).toMatchObject({ content: [sealed, { input: { x: 2 } }, {}], finishReason: 'length' })
})

const piece = (delta: string) => ({ type: 'tool-input-delta', id: 'c1', delta }) as const
const said = (input: string) => ({ type: 'tool-call', toolCallId: 'c1', toolName: 'f', input }) as const

// OpenRouter's provider sends a call each time its input parses, and sends `{}` if it never did.
test.each([
  ['a placeholder came first', [piece('{}'), said('{}'), piece('{"x":1}')], { input: { x: 1 } }],
  ['the input parses twice', [piece('{"x":1}'), said('{"x":1}'), piece(' '), said('{"x":1} ')], { input: { x: 1 } }],
  ['the input is cut off', [piece('{"x":'), said('{}')], { input: '{"x":', inputError: expect.any(String) }],
])('a provider that is not known to guarantee it seals nothing: %s (G4, G7, qC13)', async (_, parts, expected) => {
  const begun = { type: 'tool-input-start', id: 'c1', toolName: 'f' } as const
  const { model } = handMade('v3', [begun, ...parts, calls], { provider: 'openrouter' })
  const { events, message } = await ask(aiSdk(model))
  expect(message.content).toMatchObject([expected])
  expect(events.filter(({ type }) => type === 'tool-call')).toEqual([{ type: 'tool-call', call: message.content[0] }])
})

test('a call part with the id of a complete call and another name is another call (P3, G9)', async () => {
  const parts = [
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    piece('{"x":1}'),
    said('{"x":1}'),
    { ...said('{"y":2}'), toolName: 'g' },
  ] as const
  for (const provider of ['openrouter', 'openai.responses']) {
    const { model } = handMade('v3', [...parts, calls], { provider })
    expect((await ask(aiSdk(model))).message.content).toEqual([
      sealed,
      { type: 'tool-call', id: 'c1_1', name: 'g', input: { y: 2 } },
    ])
  }
})

test.each([
  ['tool-calls', 'max_tokens', 'length'],
  ['other', 'MAX_TOKENS', 'length'],
  ['other', 'STOP', 'stop'],
  ['other', 'pause_turn', 'other'],
  ['length', 'stop', 'length'],
])('a finish reason %s whose raw word is %s is %s (qR18)', async (unified, raw, expected) => {
  const { message } = await readParts([whole, { ...stop, finishReason: { unified, raw } }], 'v4')
  expect(message).toMatchObject({ finishReason: expected, response: { finishReason: raw } })
})

test('input that is not JSON stays text (G7)', async () => {
  const { message } = await readParts([
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"path":"/etc/pass' },
    calls,
  ])
  expect(message.content).toMatchObject([{ input: '{"path":"/etc/pass', inputError: expect.any(String) }])
})

test('text and reasoning are in the order in which they began; a repeated id begins a new part (G12)', async () => {
  const { message } = await readParts([
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'Hm' },
    { type: 'reasoning-delta', id: '0', delta: '.', providerMetadata: { anthropic: { signature: 's' } } },
    { type: 'reasoning-end', id: '0' },
    { type: 'text-start', id: '0', providerMetadata: { openai: { itemId: 'msg_1' } } },
    { type: 'text-delta', id: '0', delta: 'Let me ' },
    {
      type: 'tool-call',
      toolCallId: 'c1',
      toolName: 'f',
      input: '{"x":1}',
      providerMetadata: { google: { thoughtSignature: 't' } },
    },
    { type: 'text-delta', id: '0', delta: 'look.' },
    { type: 'text-end', id: '0', providerMetadata: { openai: { annotations: [] } } },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Then.' },
    { type: 'text-start', id: '1' },
    { type: 'text-end', id: '1' },
    calls,
  ])
  expect(message.content).toEqual([
    { type: 'reasoning', text: 'Hm.', providerMetadata: { 'ai-sdk:anthropic': { signature: 's' } } },
    { type: 'text', text: 'Let me look.', providerMetadata: { 'ai-sdk:openai': { itemId: 'msg_1', annotations: [] } } },
    { ...sealed, providerMetadata: { 'ai-sdk:google': { thoughtSignature: 't' } } },
    { type: 'text', text: 'Then.' },
  ])
})

test.each([
  ['v2', usage, { inputTokens: 1, outputTokens: 2 }],
  [
    'v2',
    { inputTokens: 10, outputTokens: 20, cachedInputTokens: 4, reasoningTokens: 5, totalTokens: 30 },
    { inputTokens: 10, outputTokens: 20, cacheReadTokens: 4, reasoningTokens: 5 },
  ],
  [
    'v4',
    {
      inputTokens: { total: 10, noCache: 4, cacheRead: 4, cacheWrite: 2 },
      outputTokens: { total: 20, text: undefined, reasoning: 5 },
    },
    { inputTokens: 10, outputTokens: 20, cacheReadTokens: 4, cacheWriteTokens: 2, reasoningTokens: 5 },
  ],
  [
    'v3',
    {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
    undefined,
  ],
] as const)(
  '%s: usage has the same members, and a count that was not reported is absent: %#',
  async (version, usage, expected) => {
    const { message } = await readParts([{ ...stop, usage }], version)
    expect(message.usage).toEqual(expected)
  },
)

test.each([
  ['stop', 'stop'],
  ['tool-calls', 'tool-calls'],
  ['length', 'length'],
  ['content-filter', 'content-filter'],
  ['other', 'other'],
  ['an unknown word', 'other'],
])('the finish reason %s is %s, in all versions', async (word, expected) => {
  const { message } = await readParts([whole, { ...stop, finishReason: word }], 'v2')
  expect(message).toMatchObject({ finishReason: expected, response: { finishReason: word } })
  const { message: later } = await readParts([whole, { ...stop, finishReason: { unified: word, raw: 'end' } }], 'v4')
  expect(later).toMatchObject({ finishReason: expected, response: { finishReason: 'end' } })
})

test.each([
  ['v2', [{ ...stop, finishReason: 'unknown' }]],
  ['v3', [{ ...stop, finishReason: { unified: 'other', raw: undefined } }]],
  ['v4', [{ ...stop, finishReason: { unified: 'interrupted', raw: undefined } }]],
  ['v4', []],
] as const)(
  '%s: an end without a reason is a truncated response, and seals no call (G11): %#',
  async (version, end) => {
    const failure = await failureOf(readParts([{ type: 'tool-input-start', id: 'c1', toolName: 'f' }, ...end], version))
    expect(failure).toMatchObject({ code: 'stream_truncated', retryable: true, partial: { content: [{ name: 'f' }] } })
  },
)

test('a finish reason `error` is an error', async () => {
  const failure = await failureOf(readParts([{ ...stop, finishReason: { unified: 'error', raw: 'boom' } }]))
  expect(failure).toMatchObject({ name: 'ModelError', code: 'finish_reason_error' })
})

test('the response contains its id and its model', async () => {
  const { message } = await readParts([
    { type: 'response-metadata', id: 'r1', modelId: 'm-2026' },
    { type: 'response-metadata' },
    stop,
  ])
  expect(message.response).toEqual({ id: 'r1', model: 'm-2026', finishReason: 'stop' })
})

const first = { type: 'response-metadata', id: 'resp_1', modelId: 'm' } as const
const second = { ...first, id: 'resp_2' } as const

test.each(['openai.responses', 'azure.responses', 'anthropic.messages', 'vertex.anthropic.messages'])(
  '%s: a second response in the stream of the first is a retryable error (P1)',
  async (provider) => {
    const asked = ask(aiSdk(handMade('v4', [first, whole, second, whole, calls], { provider }).model))
    expect(await failureOf(asked)).toMatchObject({
      name: 'ModelError',
      code: 'stream_restarted',
      retryable: true,
      partial: { content: [sealed], response: { id: 'resp_1' } },
    })
  },
)

test('a response that begins again with the same id is the same one (P1)', async () => {
  const { message } = await readParts([first, first, whole, first, calls])
  expect(message).toMatchObject({ content: [sealed], response: { id: 'resp_1', model: 'm' } })
})

test('if a response has no event for its beginning, changing ids are ignored (P1, qC40)', async () => {
  for (const provider of ['mistral.chat', 'openrouter.chat', 'gateway']) {
    const { message } = await ask(aiSdk(handMade('v4', [first, whole, second, calls], { provider }).model))
    expect(message).toMatchObject({ content: [sealed], finishReason: 'tool-calls' })
  }
})

test('nothing is read after the finish part (P1)', async () => {
  const { message, events } = await readParts([whole, calls, { ...whole, toolCallId: 'c2' }, stop])
  expect(message).toMatchObject({ content: [sealed], finishReason: 'tool-calls' })
  expect(events.filter((event) => event.type === 'tool-call')).toEqual([{ type: 'tool-call', call: sealed }])
})

test('unknown parts are ignored', async () => {
  const { events, message } = await readParts([
    { type: 'ping' },
    { type: 'raw' },
    { type: 'source' },
    { type: 'custom', kind: 'anthropic.message_start' },
    stop,
  ])
  expect(events).toEqual([])
  expect(message.content).toEqual([])
})

const searched = [
  { type: 'tool-input-start', id: 's1', toolName: 'web_search', providerExecuted: true },
  { type: 'tool-input-delta', id: 's1', delta: '{"query":"q"}' },
  { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: '{"query":"q"}', providerExecuted: true },
  {
    type: 'tool-result',
    toolCallId: 's1',
    toolName: 'web_search',
    result: { hits: 2 },
    providerMetadata: { openai: { itemId: 'ws_1' } },
  },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Found.' },
  stop,
] as const

test('a call that the provider runs is never reported as ours, not even while it streams (G16)', async () => {
  const { events, message } = await readParts(searched)
  const shown = events.flatMap((event) => ('call' in event ? [event.call] : []))
  expect(shown.map((call) => call.providerResult)).toEqual([null, null])
  expect(message.content).toMatchObject([
    { name: 'web_search', input: { query: 'q' }, providerResult: { hits: 2 } },
    { type: 'text', text: 'Found.' },
  ])
})

test('a call that the provider runs is sent back with its result only to that provider (G12, G16)', async () => {
  const { message } = await readParts(searched)
  const messages = [{ role: 'user', content: 'Search.' }, message] as const
  const same = handMade('v4', [stop])
  await ask(aiSdk(same.model), { messages })
  expect(same.asked[0]?.prompt[1]).toEqual({
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: { query: 'q' }, providerExecuted: true },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'web_search',
        output: { type: 'json', value: { hits: 2 } },
        providerOptions: { openai: { itemId: 'ws_1' } },
      },
      { type: 'text', text: 'Found.' },
    ],
  })
  const other = handMade('v4', [stop], { provider: 'anthropic.messages' })
  await ask(aiSdk(other.model), { messages })
  expect(other.asked[0]?.prompt[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Found.' }] })
})

test('a result in a later response belongs to the call of the earlier one (G16)', async () => {
  const { message: first } = await readParts([
    { type: 'tool-call', toolCallId: 's1', toolName: 'code', input: '{}', providerExecuted: true },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    calls,
  ])
  const late = handMade('v4', [
    { type: 'tool-result', toolCallId: 's1', toolName: 'code', result: 'failed', isError: true },
    stop,
  ])
  const { message: second } = await ask(aiSdk(late.model), { takenIds: new Set(['s1', 'c1']) })
  const { model, asked } = handMade('v4', [stop])
  await ask(aiSdk(model), { messages: [first, second] })
  expect(asked[0]?.prompt).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 's1', toolName: 'code', input: {}, providerExecuted: true },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: { x: 1 } },
      ],
    },
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-result',
          toolCallId: 's1',
          toolName: 'code',
          output: { type: 'error-json', value: 'failed' },
        },
      ],
    },
  ])
})

test.each([
  ['v2', 'AQID', 'AQID'],
  ['v3', new Uint8Array([1, 2, 3]), 'AQID'],
  ['v4', { type: 'data', data: new Uint8Array([1, 2, 3]) }, { type: 'data', data: 'AQID' }],
  [
    'v4',
    { type: 'url', url: new URL('https://example.com/a.png') },
    { type: 'url', url: new URL('https://example.com/a.png') },
  ],
] as const)('%s: a file created by the model is kept as JSON and sent back: %#', async (version, data, expected) => {
  const metadata = { google: { thoughtSignature: 't' } }
  const { message } = await readParts(
    [{ type: 'file', mediaType: 'image/png', data, providerMetadata: metadata }, stop],
    version,
  )
  const { model, asked } = handMade(version, [stop])
  await ask(aiSdk(model), { messages: [JSON.parse(JSON.stringify(message))] })
  expect(asked[0]?.prompt[0]?.content).toEqual([
    { type: 'file', mediaType: 'image/png', data: expected, providerOptions: metadata },
  ])
})

test('the AI SDK’s metadata goes back to the AI SDK, and to no adapter of the same provider (G12)', async () => {
  const providerMetadata = { openai: { itemId: 'msg_1' } }
  const parts = [
    { type: 'text-start', id: '0', providerMetadata },
    { type: 'text-delta', id: '0', delta: 'Look' },
  ] as const
  const { message } = await readParts([...parts, { ...whole, providerMetadata }, calls])
  const results = [{ role: 'tool', callId: 'c1', name: 'f', content: [] }] as const
  const messages = [{ role: 'user', content: 'Go' }, message, ...results] as const
  const { model, asked } = handMade('v4', [stop])
  await ask(aiSdk(model), { messages })
  expect(asked[0]?.prompt[1]?.content).toMatchObject([
    { text: 'Look', providerOptions: providerMetadata },
    { toolName: 'f', providerOptions: providerMetadata },
  ])
  for (const wire of [chat, responses]) expect(JSON.stringify(await bodyOf(wire, { messages }))).not.toContain('msg_1')
})

test('content created by one provider’s model is not sent to another provider', async () => {
  const { message } = await readParts([
    { type: 'file', mediaType: 'image/png', data: 'AQID', providerMetadata: { google: { thoughtSignature: 't' } } },
    stop,
  ])
  const { model, asked } = handMade('v4', [stop], { provider: 'anthropic.messages' })
  await ask(aiSdk(model), { messages: [message, { role: 'user', content: 'Again.' }] })
  expect(asked[0]?.prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Again.' }] }])
})

test('a part that only its provider understands is sent back unchanged (G12)', async () => {
  const metadata = { openai: { type: 'compaction', encryptedContent: 'gAAA' } }
  const { message } = await readParts([{ type: 'custom', kind: 'openai.compaction', providerMetadata: metadata }, stop])
  const { model, asked } = handMade('v4', [stop])
  await ask(aiSdk(model), { messages: [message] })
  expect(asked[0]?.prompt[0]?.content).toEqual([
    { type: 'custom', kind: 'openai.compaction', providerOptions: metadata },
  ])
})

test('a call that starts again with another name before its input arrived is an error (P2, qA15)', async () => {
  const failure = await failureOf(
    readParts([
      { type: 'tool-input-start', id: 'c1', toolName: 'read' },
      { type: 'tool-input-start', id: 'c1', toolName: '_file' },
      piece('{"x":1}'),
      { ...said('{"x":1}'), toolName: '_file' },
      calls,
    ]),
  )
  expect(failure).toMatchObject({ code: 'invalid_chunk', retryable: true })
})

// Each part used to search all parts before it.
test('thousands of calls with one id are read as fast as they arrive (G9)', () =>
  expectLinear(1_000, async (count) => {
    const numbers = Array.from({ length: count }, (_, x) => x)
    const { message } = await readParts([
      ...numbers.map(() => ({ type: 'tool-input-start', id: 'c1', toolName: 'f' }) as const),
      ...numbers.map((x) => said(JSON.stringify({ x }))),
      calls,
    ])
    expect(message.content.map((part) => part.type === 'tool-call' && part.input)).toEqual(numbers.map((x) => ({ x })))
  }))
