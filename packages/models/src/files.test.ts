import type { FilePart } from '@meanwhile/core'
import { ConfigError } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { bodyOf, failureOf } from '../test/ask.ts'
import { chat, claude, responses, type TestWire } from '../test/wires.ts'

const refused: readonly [TestWire, Pick<FilePart, 'mediaType' | 'data'>, string][] = [
  [chat, { mediaType: 'video/mp4', data: 'AAAA' }, 'OpenAI Chat takes no file of type video/mp4'],
  [
    chat,
    { mediaType: 'application/pdf', data: { url: 'https://example.com/a.pdf' } },
    'OpenAI Chat takes no file of type application/pdf given as a URL',
  ],
  [responses, { mediaType: 'audio/wav', data: 'AAAA' }, 'OpenAI Responses takes no file of type audio/wav'],
  [claude, { mediaType: 'image/bmp', data: 'AAAA' }, 'Anthropic Messages takes no file of type image/bmp'],
  [claude, { mediaType: 'audio/wav', data: 'AAAA' }, 'Anthropic Messages takes no file of type audio/wav'],
]

test.each(refused)('a file the wire cannot carry is refused, never dropped: %#', async (wire, file, message) => {
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
})
