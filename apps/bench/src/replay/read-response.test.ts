import { call, respond, say } from '@meanwhile/assemble/testing'
import { callsOf } from '@meanwhile/core'
import { mockModels, parseRecording, recordModels } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { readResponse } from './read-response.ts'

const response = respond(
  say('Let me look.'),
  call('search', { query: 'kettle' }, { id: 'a', deltas: 2 }),
  call('rates', {}, { id: 'b', deltas: 1 }),
  say('One moment.'),
)

const names = ['search', 'rates']
const hello = [{ role: 'user', content: 'Hello' }]
const schema = { type: 'object', properties: {} }
const bodies = {
  '/v1/chat/completions': {
    messages: hello,
    tools: names.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
  },
  '/v1/responses': { input: hello, tools: names.map((name) => ({ type: 'function', name, parameters: schema })) },
  '/v1/messages': {
    max_tokens: 100,
    messages: hello,
    tools: names.map((name) => ({ name, input_schema: schema })),
  },
}

test.each([
  ['openai-chat', '/v1/chat/completions', { a: 6, b: 8 }],
  ['openai-responses', '/v1/responses', { a: 12, b: 16 }],
  ['anthropic', '/v1/messages', { a: 10, b: 14 }],
] as const)(
  'of a response on %s it is known which write completes the arguments of each call',
  async (_, path, last) => {
    const mock = mockModels({ script: [response], pace: { firstToken: 1, betweenTokens: 1 } })
    const recorder = recordModels({ upstream: mock.fetch })
    const body = JSON.stringify({ model: 'any', stream: true, ...bodies[path] })
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
