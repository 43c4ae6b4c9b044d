import { respond, say } from '@meanwhile/assemble/testing'
import { ConfigError, type FilePart, type Message, type ModelRequest } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { handMade, VERSIONS } from '../test/ai-sdk.ts'
import { ask, failureOf } from '../test/ask.ts'
import { history, settings, tools } from '../test/history.ts'
import { realModels } from '../test/real-models.ts'
import { aiSdk } from './ai-sdk.ts'

const everyUrl = { '*': [/^https:/] }
const stop = [{ type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }] as const

/** The call options that a model of this version receives. */
async function sent(version: (typeof VERSIONS)[number], request: Partial<ModelRequest>, provider = 'openai.responses') {
  const { model, asked } = handMade(version, stop, { provider, supportedUrls: Promise.resolve(everyUrl) })
  await ask(aiSdk(model), request)
  return asked[0]
}

test.each(VERSIONS)('%s: a complete request becomes call options (A6, M13, M16, J16)', async (version) => {
  const options = await sent(version, {
    instructions: 'Be {brief}.',
    messages: history({ openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } }),
    tools,
    settings,
    toolChoice: { tool: 'weather' },
  })
  const bytes = (data: string) => (version === 'v4' ? { type: 'data', data } : data)
  const url = (text: string) => (version === 'v4' ? { type: 'url', url: new URL(text) } : new URL(text))
  const map = {
    v2: { type: 'media', data: 'iVBOR', mediaType: 'image/png' },
    v3: { type: 'image-data', data: 'iVBOR', mediaType: 'image/png' },
    v4: { type: 'file', data: bytes('iVBOR'), mediaType: 'image/png', filename: 'map.png' },
  }
  expect(options).toEqual({
    prompt: [
      { role: 'system', content: 'Be {brief}.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which city is this?' },
          { type: 'file', mediaType: 'image/png', data: bytes('iVBOR'), filename: 'city.png' },
          { type: 'file', mediaType: 'image/jpeg', data: url('https://example.com/city.jpg') },
          { type: 'file', mediaType: 'application/pdf', data: bytes('JVBER'), filename: 'guide.pdf' },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'A tower.',
            providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } },
          },
          { type: 'reasoning', text: 'Of another provider.', providerOptions: { other: { signature: 's' } } },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Paris' } },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'weather', input: { arguments: '{"city":' } },
          { type: 'tool-call', toolCallId: 'call_3', toolName: 'unknown', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'weather',
            output: { type: 'content', value: [{ type: 'text', text: 'Sunny' }, map[version]] },
          },
          {
            type: 'tool-result',
            toolCallId: 'call_2',
            toolName: 'weather',
            output: { type: 'error-text', value: 'not valid JSON' },
          },
          {
            type: 'tool-result',
            toolCallId: 'call_3',
            toolName: 'unknown',
            output: { type: 'error-text', value: 'The call failed, without a message.' },
          },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
    ],
    tools: [
      {
        type: 'function',
        name: 'weather',
        description: 'The weather in a city',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
    toolChoice: { type: 'tool', toolName: 'weather' },
    maxOutputTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    frequencyPenalty: 0.1,
    presencePenalty: 0.2,
    stopSequences: ['END'],
    seed: 7,
    providerOptions: {
      openai: { parallelToolCalls: false, service_tier: 'flex' },
      anthropic: { metadata: { user_id: 'u1' } },
    },
    abortSignal: expect.objectContaining({ aborted: false }),
  })
})

test('missing values are not sent: no instructions, no tools, no settings', async () => {
  expect(await sent('v4', {})).toEqual({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    abortSignal: expect.any(AbortSignal),
  })
})

test.each(['auto', 'none', 'required'] as const)('the tool choice %s is sent by its name', async (toolChoice) => {
  expect(await sent('v4', { tools, toolChoice })).toMatchObject({ toolChoice: { type: toolChoice } })
})

test('the setting for parallel calls uses the option names of known providers', async () => {
  const request = { tools, settings: { parallelToolCalls: false } }
  expect(await sent('v4', request, 'anthropic.messages')).toMatchObject({
    providerOptions: { anthropic: { disableParallelToolUse: true } },
  })
  expect(await sent('v4', request, 'azure.responses')).toMatchObject({
    providerOptions: { openai: { parallelToolCalls: false } },
  })
  expect(await sent('v4', request, 'mistral.chat')).not.toHaveProperty('providerOptions')
})

test('parts keep their metadata; empty text without metadata is omitted, and so is an empty message', async () => {
  const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }
  const options = await sent('v4', {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hello', providerMetadata: cached }] },
      { role: 'assistant', content: [{ type: 'text', text: '' }], finishReason: 'stop' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '', providerMetadata: cached },
          { type: 'tool-call', id: 'c', name: 'f', input: [1], providerMetadata: cached },
        ],
        finishReason: 'tool-calls',
      },
      { role: 'tool', callId: 'c', name: 'f', content: [{ type: 'text', text: 'ok', providerMetadata: cached }] },
    ],
  })
  expect(options?.prompt).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hello', providerOptions: cached }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: '', providerOptions: cached },
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: { arguments: [1] }, providerOptions: cached },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c',
          toolName: 'f',
          output: { type: 'content', value: [{ type: 'text', text: 'ok', providerOptions: cached }] },
        },
      ],
    },
  ])
})

const pdf: FilePart = { type: 'file', mediaType: 'application/pdf', data: { url: 'https://example.com/a.pdf' } }

function resultOf(part: FilePart): Partial<ModelRequest> {
  const call = { type: 'tool-call', id: 'c', name: 'f', input: {} } as const
  const messages: readonly Message[] = [
    { role: 'assistant', content: [call], finishReason: 'tool-calls' },
    { role: 'tool', callId: 'c', name: 'f', content: [part] },
  ]
  return { messages }
}

test.each([
  ['v3', pdf, { type: 'file-url', url: 'https://example.com/a.pdf' }],
  [
    'v3',
    { ...pdf, data: 'JVBER', filename: 'a.pdf' },
    { type: 'file-data', data: 'JVBER', mediaType: 'application/pdf', filename: 'a.pdf' },
  ],
  ['v3', { ...pdf, mediaType: 'image/png' }, { type: 'image-url', url: 'https://example.com/a.pdf' }],
  [
    'v4',
    pdf,
    { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url: new URL('https://example.com/a.pdf') } },
  ],
] as const)('%s: a file in a result: %#', async (version, part, expected) => {
  const options = await sent(version, resultOf(part))
  expect(options?.prompt[1]?.content).toMatchObject([{ output: { type: 'content', value: [expected] } }])
})

test('a file of a tool that the version cannot express becomes a sentence, never dropped (W19)', async () => {
  const options = await sent('v2', resultOf(pdf))
  expect(options?.prompt[1]?.content).toMatchObject([
    { output: { value: [{ type: 'text', text: expect.stringContaining('application/pdf given as a URL') }] } },
  ])
})

test.each([
  [{ 'image/*': [/^https:/] }, true],
  [{ 'IMAGE/PNG': [/^https:/g] }, true],
  [{ '*/*': [/^https:/] }, true],
  [{ 'image/*': [/^gs:/] }, false],
  [{ 'application/pdf': [/^https:/] }, false],
  [{}, false],
])('a URL is sent to a provider that reads it itself, otherwise it is refused: %o', async (supportedUrls, taken) => {
  const part: FilePart = { type: 'file', mediaType: 'image/png', data: { url: 'https://example.com/a.png' } }
  const { model, asked } = handMade('v4', stop, { supportedUrls })
  const messages: readonly Message[] = [{ role: 'user', content: [part] }]
  // Twice, because a pattern with the flag `g` keeps its position.
  const failures = [await failureOf(ask(aiSdk(model), { messages })), await failureOf(ask(aiSdk(model), { messages }))]
  expect(failures.every((failure) => (taken ? failure === undefined : failure instanceof ConfigError))).toBe(true)
  expect(asked).toHaveLength(taken ? 2 : 0)
})

const image: FilePart = { type: 'file', mediaType: 'image/png', data: { url: 'https://example.com/a.png' } }
const asking = (part: FilePart): Message => ({ role: 'user', content: [part] })
const answer: Message = { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }], finishReason: 'stop' }

/** Requests whose file is not in the user's newest message, or may be left out. */
const replaceable = (part: FilePart): readonly Partial<ModelRequest>[] => [
  resultOf(part),
  { messages: [...(resultOf(part).messages ?? []), { role: 'user', content: 'And now?' }] },
  { messages: [asking(part), answer, { role: 'user', content: 'And now?' }] },
  { messages: [asking(part)], omitsFiles: true },
]

test.each(['mistral.chat', 'openai.responses', 'anthropic.messages', 'google.generative-ai'])(
  '%s: a URL that the provider does not read is a sentence, except in a new message of the user (W19)',
  async (provider) => {
    for (const part of [image, { ...image, data: { url: 'a.png' } }])
      for (const request of replaceable(part)) {
        const { model, asked } = handMade('v4', stop, { provider, supportedUrls: {} })
        await ask(aiSdk(model), request)
        expect(JSON.stringify(asked[0]?.prompt)).toContain('(the file of type image/png is not here: ')
        expect(JSON.stringify(asked[0]?.prompt)).not.toContain('"type":"file"')
      }
    const { model } = handMade('v4', stop, { provider, supportedUrls: {} })
    expect(await failureOf(ask(aiSdk(model), { messages: [asking(image)] }))).toBeInstanceOf(ConfigError)
  },
)

/** A model whose package takes only images, and says so in these words. */
function onlyImages(words: (mediaType: string) => string) {
  return handMade('v4', stop, {
    provider: 'groq.chat',
    refuse({ prompt }) {
      const [, type] = /"mediaType":"((?!image)[^"]*)"/.exec(JSON.stringify(prompt)) ?? []
      if (type === undefined) return
      throw Object.assign(new Error(words(type)), { name: 'AI_UnsupportedFunctionalityError' })
    },
  })
}

const zip: FilePart = { type: 'file', mediaType: 'application/zip', filename: 'a.zip', data: 'UEsDBA==' }
const png: FilePart = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' }

test('a file that only the package refuses is a sentence with its words, and the others stay (W19)', async () => {
  for (const request of replaceable(zip)) {
    const { model, asked } = onlyImages((type) => `no file of type ${type}`)
    await ask(aiSdk(model), request)
    expect(asked).toHaveLength(1)
    expect(JSON.stringify(asked[0]?.prompt)).toContain('(a.zip is not here: no file of type application/zip)')
  }
  const video: FilePart = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' }
  const { model, asked } = onlyImages((type) => `no file of type ${type}`)
  await ask(aiSdk(model), { messages: [zip, video, png].flatMap((part) => resultOf(part).messages ?? []) })
  expect(JSON.stringify(asked[0]?.prompt)).toMatch(
    /a\.zip is not here.*video\/mp4 is not here.*"mediaType":"image\/png"/,
  )
})

test('a package that does not name the file gets none of those that may be left out (W19)', async () => {
  const { model, asked } = onlyImages(() => 'no documents')
  await ask(aiSdk(model), { messages: [...(resultOf(zip).messages ?? []), asking(png)] })
  expect(JSON.stringify(asked[0]?.prompt)).toMatch(/a\.zip is not here: no documents.*"mediaType":"image\/png"/)
})

test('a file of the newest message that only the package refuses is a ConfigError, also after others (W19)', async () => {
  const { model, asked } = onlyImages((type) => `no file of type ${type}`)
  const failure = await failureOf(
    ask(aiSdk(model), { messages: [...(resultOf(zip).messages ?? []), asking({ ...zip, filename: 'b.zip' })] }),
  )
  expect(failure).toBeInstanceOf(ConfigError)
  expect(failure).toMatchObject({ option: 'messages', message: 'messages: no file of type application/zip' })
  expect(asked).toEqual([])
})

test.each(realModels)(
  '$title: content that the provider does not support is a ConfigError, and nothing is sent',
  async ({ model }) => {
    const mock = mockModels({ script: [respond(say('Hello'))] })
    const part: FilePart = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' }
    const failure = await failureOf(ask(aiSdk(model(mock.fetch)), { messages: [{ role: 'user', content: [part] }] }))
    expect(failure).toBeInstanceOf(ConfigError)
    expect(failure).toMatchObject({ option: 'messages', message: expect.stringContaining('video/mp4') })
    expect(mock.requests).toEqual([])
  },
)

const anthropic = realModels.filter(({ wire }) => wire === 'anthropic')

test.each(anthropic)(
  '$title: content of a result that the provider omits becomes a sentence, never dropped (W19)',
  async (real) => {
    const part: FilePart = { type: 'file', mediaType: 'audio/wav', data: 'AAAA' }
    const mock = mockModels({ script: [respond(say('Hello'))] })
    await ask(aiSdk(real.model(mock.fetch)), resultOf(part))
    expect(JSON.stringify(mock.requests[0]?.body)).toContain('does not support files of type audio/wav')
  },
)
