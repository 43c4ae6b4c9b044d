import { callsOf } from '@meanwhile/core'
import { call, respond, say } from '@meanwhile/core/testing'
import { mockModels, parseRecording, recordModels } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { readResponse } from './read-response.ts'

const response = respond(
  say('Let me look.'),
  call('search', { query: 'kettle' }, { id: 'a', deltas: 2 }),
  call('rates', {}, { id: 'b', deltas: 1 }),
  say('One moment.'),
)

test.each([
  ['openai-chat', '/v1/chat/completions', { a: 6, b: 8 }],
  ['openai-responses', '/v1/responses', { a: 12, b: 16 }],
  ['anthropic', '/v1/messages', { a: 10, b: 14 }],
] as const)(
  'of a response on %s it is known which write completes the arguments of each call',
  async (_, path, last) => {
    const mock = mockModels({ script: [response], pace: { firstToken: 1, betweenTokens: 1 } })
    const recorder = recordModels({ upstream: mock.fetch })
    const tools = ['search', 'rates'].map((name) =>
      path === '/v1/chat/completions' ? { type: 'function', function: { name } } : { name },
    )
    const body = JSON.stringify({ model: 'any', stream: true, messages: [], input: '', tools })
    await (await recorder.fetch(`http://localhost${path}`, { method: 'POST', body })).text()
    const [exchange] = parseRecording(recorder.recording())
    if (!exchange) throw new Error('nothing was recorded')

    const { message, lastWrites } = await readResponse(exchange)
    expect(Object.fromEntries(lastWrites)).toEqual(last)
    expect(callsOf(message).map(({ name, input }) => [name, input])).toEqual([
      ['search', { query: 'kettle' }],
      ['rates', {}],
    ])
  },
)
