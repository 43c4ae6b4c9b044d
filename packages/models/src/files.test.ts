import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, type FilePart, type Message, type Model, tool } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bodyOf, bodyThrough, failureOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, type TestWire } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const refused: readonly [TestWire, Pick<FilePart, 'mediaType' | 'data'>, string][] = [
  [chat, { mediaType: 'video/mp4', data: 'AAAA' }, 'OpenAI Chat does not support files of type video/mp4'],
  [
    chat,
    { mediaType: 'application/pdf', data: { url: 'https://example.com/a.pdf' } },
    'OpenAI Chat does not support files of type application/pdf given as a URL',
  ],
  [responses, { mediaType: 'audio/wav', data: 'AAAA' }, 'OpenAI Responses does not support files of type audio/wav'],
  [claude, { mediaType: 'image/bmp', data: 'AAAA' }, 'Anthropic Messages does not support files of type image/bmp'],
  [claude, { mediaType: 'audio/wav', data: 'AAAA' }, 'Anthropic Messages does not support files of type audio/wav'],
]

test.each(refused)(
  'a file that the wire does not support is a ConfigError in a new message of the user: %#',
  async (wire, file, message) => {
    const part: FilePart = { type: 'file', ...file }
    const failure = await failureOf(bodyOf(wire, { messages: [{ role: 'user', content: [part] }] }))
    expect(failure).toBeInstanceOf(ConfigError)
    expect(failure).toMatchObject({ option: 'messages', message: `messages: ${message}` })
  },
)

test.each(refused)(
  'in a result of a tool, in an earlier message, and with a model that takes over it is a sentence: %# (W19)',
  async (wire, file, message) => {
    const part: FilePart = { type: 'file', ...file }
    const asked: Message = { role: 'user', content: [part] }
    const answered: Message = { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }], finishReason: 'stop' }
    const called: Message = {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'c', name: 'f', input: {} }],
      finishReason: 'tool-calls',
    }
    for (const request of [
      { messages: [called, { role: 'tool', callId: 'c', name: 'f', content: [part] }] },
      { messages: [asked, answered, { role: 'user', content: 'And now?' }] },
      { messages: [asked, { role: 'user', content: 'And now?' }] },
      { messages: [asked], omitsFiles: true },
    ] as const)
      expect(JSON.stringify(await bodyOf(wire, request))).toContain(
        `(the file of type ${file.mediaType} is not here: ${message})`,
      )
  },
)

const map: FilePart = { type: 'file', mediaType: 'image/png', data: 'iVBOR', filename: 'map.png' }
const guide: FilePart = { type: 'file', mediaType: 'application/pdf', data: 'JVBER' }

const draw = tool({
  name: 'draw',
  description: 'Draws a map.',
  input: z.object({ files: z.boolean() }),
  execute: ({ files }) => files,
  toContent: (files) => [
    { type: 'text', text: 'Here:' },
    ...(files ? [map, { type: 'text', text: 'and' } as const, guide] : []),
  ],
})

/** The body of the request with the results of two calls, the first with files. */
async function withResults(model: (fetch: typeof globalThis.fetch) => Model) {
  const usage = end({ usage: { inputTokens: 1, outputTokens: 1 } })
  const calls = [true, false].map((files, n) => call('draw', { files }, { id: `call_${n}` }))
  const { fetch, requests } = mockModels({ script: [respond(...calls, usage), respond(say('Nice.'), usage)] })
  expect((await createAgent({ model: model(fetch), tools: [draw] }).run('Go')).text).toBe('Nice.')
  return JSON.parse(JSON.stringify(requests[1]?.body)) as object
}

const url = { image: 'data:image/png;base64,iVBOR', pdf: 'data:application/pdf;base64,JVBER' }
const note = (name: string) => `(${name} is in the user message after these results)`
const label = (name: string) => ({ type: 'text', text: `${name}, from the result of call call_0:` })

/** On Chat Completions: notes, then the remaining results of the step, then the files. */
const onChat = {
  messages: [
    { role: 'user' },
    { role: 'assistant' },
    {
      role: 'tool',
      tool_call_id: 'call_0',
      content: ['Here:', note('map.png'), 'and', note('application/pdf')].join('\n'),
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Here:' },
    {
      role: 'user',
      content: [
        label('map.png'),
        { type: 'image_url', image_url: { url: url.image } },
        label('application/pdf'),
        { type: 'file', file: { file_data: url.pdf } },
      ],
    },
  ],
}

test('the content from toContent reaches each wire in order, after the results if these cannot contain files (M13)', async () => {
  expect(await withResults(chat.model)).toMatchObject(onChat)
  expect(await withResults(responses.model)).toMatchObject({
    input: expect.arrayContaining([
      expect.objectContaining({
        call_id: 'call_0',
        output: [
          { type: 'input_text', text: 'Here:' },
          expect.objectContaining({ type: 'input_image', image_url: url.image }),
          { type: 'input_text', text: 'and' },
          expect.objectContaining({ type: 'input_file', file_data: url.pdf }),
        ],
      }),
    ]),
  })
  const { messages } = (await withResults(claude.model)) as { messages: object[] }
  expect(messages[2]).toMatchObject({
    content: [
      {
        tool_use_id: 'call_0',
        content: [{ text: 'Here:' }, { type: 'image' }, { text: 'and' }, { type: 'document' }],
      },
      { tool_use_id: 'call_1', content: [{ text: 'Here:' }] },
    ],
  })
})

const throughChat = realModels.filter(({ wire }) => wire === 'openai-chat')

test.each(throughChat)('$title: through the AI SDK files of results follow them, too (M13)', async ({ model }) => {
  expect(await withResults((fetch) => aiSdk(model(fetch)))).toMatchObject(onChat)
})

const unusable: readonly (readonly [Pick<FilePart, 'mediaType' | 'data'>, string])[] = [
  [{ mediaType: 'image/svg+xml', data: 'PHN2Zy8+' }, 'image/svg+xml'],
  [{ mediaType: 'image/heic', data: 'AAAAGGZ0eXBoZWlj' }, 'image/heic'],
  [{ mediaType: 'image/*', data: 'Qk02' }, 'image/*'],
  [{ mediaType: 'image/png', data: '' }, 'is empty'],
  [{ mediaType: 'application/pdf', data: ' ' }, 'is empty'],
  [{ mediaType: 'image/png', data: 'not base64!' }, 'is not base64'],
  [{ mediaType: 'image/jpeg', data: 'iVBORw0KGgo=' }, 'should be image/jpeg, but contains image/png'],
  [{ mediaType: 'image/png', data: 'PHN2Zy8+' }, 'should be image/png, but contains text'],
  [{ mediaType: 'image/png', data: 'AAAAGGZ0eXBoZWlj' }, 'should be image/png, but contains image/heic'],
  [{ mediaType: 'image/png', data: { url: 'file:///a.png' } }, 'does not read file: URLs'],
  [{ mediaType: 'image/svg+xml', data: { url: 'https://example.com/a.svg' } }, 'given as a URL'],
]

/** A result of a tool with this file. */
const resultOf = (part: FilePart): readonly Message[] => [
  { role: 'user', content: 'Go' },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'c', name: 'f', input: {} }],
    finishReason: 'tool-calls',
  },
  { role: 'tool', callId: 'c', name: 'f', content: [part] },
]

test.each(unusable)(
  'a file that no provider reads is a sentence from a tool, and a ConfigError from the user: %o (W19)',
  async (file, problem) => {
    const part: FilePart = { type: 'file', filename: 'a.bin', ...file }
    for (const wire of [chat, responses, claude]) {
      const body = JSON.stringify(await bodyOf(wire, { messages: resultOf(part) }))
      expect(body).toContain('(a.bin is not here: ')
      expect(body).toContain(problem)
      const failure = await failureOf(bodyOf(wire, { messages: [{ role: 'user', content: [part] }] }))
      expect(failure).toMatchObject({ name: 'ConfigError', message: expect.stringContaining(problem) as string })
    }
  },
)

test.each(realModels)('$title: through the AI SDK, too (W19)', async (real) => {
  for (const [file] of unusable.slice(0, 4)) {
    const part: FilePart = { type: 'file', filename: 'a.bin', ...file }
    const body = await bodyThrough(real, { messages: resultOf(part) })
    expect(JSON.stringify(body)).toContain('(a.bin is not here: ')
  }
})

test('Messages takes no image over 5 MB, and none at an `http:` address (W19)', async () => {
  for (const data of [`iVBOR${'A'.repeat(5 * 1024 * 1024)}`, { url: 'http://example.com/a.png' }]) {
    const part: FilePart = { type: 'file', mediaType: 'image/png', data }
    expect(JSON.stringify(await bodyOf(claude, { messages: resultOf(part) }))).toContain('is not here')
    expect(JSON.stringify(await bodyOf(chat, { messages: resultOf(part) }))).not.toContain('is not here')
  }
})

test('the type is sent in the usual form, and a `data:` URL as its data (W19)', async () => {
  for (const file of [
    { mediaType: 'image/JPG; charset=binary', data: '/9j/4AAQ' },
    { mediaType: 'image/*', data: '/9j/4AAQ' },
    { mediaType: 'image/jpeg', data: 'data:image/jpeg;base64,/9j/4AAQ' },
    { mediaType: 'image/*', data: { url: 'data:image/jpeg;base64,/9j/4AAQ' } },
  ]) {
    const messages: readonly Message[] = [{ role: 'user', content: [{ type: 'file', ...file }] }]
    expect(await bodyOf(claude, { messages })).toMatchObject({
      messages: [{ content: [{ source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQ' } }] }],
    })
    expect(JSON.stringify(await bodyOf(chat, { messages }))).toContain('"data:image/jpeg;base64,/9j/4AAQ"')
  }
})

test.each(['audio/mpeg', 'audio/x-mpeg', 'audio/mp3', 'audio/x-mp3'])(
  'Chat takes %s, as a file of the user (W19)',
  async (mediaType) => {
    const file = { type: 'file', mediaType, data: 'SUQz' } as const
    const sound = { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } }
    expect(await bodyOf(chat, { messages: [{ role: 'user', content: [file] }] })).toMatchObject({
      messages: [{ content: [sound] }],
    })
  },
)

test('a `data:` URL without an end costs no more than its length (W19)', async () => {
  await expectLinear(100_000, (count) => {
    const content = [{ type: 'file', mediaType: 'image/png', data: `data:${'a'.repeat(count)}` }] as const
    return failureOf(bodyOf(chat, { messages: [{ role: 'user', content }] }))
  })
})
