import { ConfigError, createAgent, type FilePart, type Model, tool } from '@meanwhile/core'
import { call, end, respond, say } from '@meanwhile/core/testing'
import { mockModels } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bodyOf, failureOf } from '../test/ask.ts'
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
  'a file that the wire does not support is refused, never dropped: %#',
  async (wire, file, message) => {
    const part: FilePart = { type: 'file', ...file }
    const inMessage = await failureOf(bodyOf(wire, { messages: [{ role: 'user', content: [part] }] }))
    const inResult = await failureOf(
      bodyOf(wire, {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'tool-call', id: 'c', name: 'f', input: {} }],
            finishReason: 'tool-calls',
          },
          { role: 'tool', callId: 'c', name: 'f', content: [part] },
        ],
      }),
    )
    for (const failure of [inMessage, inResult]) {
      expect(failure).toBeInstanceOf(ConfigError)
      expect(failure).toMatchObject({ option: 'messages', message: `messages: ${message}` })
    }
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
