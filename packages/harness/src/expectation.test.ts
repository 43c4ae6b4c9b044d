import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { mockModels } from './msw.ts'
import type { ScriptedReply } from './script.ts'
import { serveModels } from './serve-models.ts'

const url = 'http://models.test/v1/chat/completions'

const ask = (fetch: typeof globalThis.fetch, messages: readonly object[], to = url) =>
  fetch(to, { method: 'POST', body: JSON.stringify({ model: 'gpt', stream: true, messages }) })

const user = { role: 'user', content: 'Weather?' }
const called = {
  role: 'assistant',
  tool_calls: [{ id: 'call_1_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
}
const result = { role: 'tool', tool_call_id: 'call_1_1', content: 'sunny' }

const turns = (expected: ScriptedReply['expect']): ScriptedReply[] => [
  respond(call('weather')),
  { ...respond(say('Sunny.')), ...(expected && { expect: expected }) },
]

test('each response may have an expectation of its request, and is streamed if it is met', async () => {
  const mock = mockModels({
    script: turns({
      wire: 'openai-chat',
      url: /chat/,
      headers: { 'x-api-key': undefined },
      body: { messages: [{}, {}, result] },
    }),
  })
  await ask(mock.fetch, [user])
  expect(await (await ask(mock.fetch, [user, called, result])).text()).toContain('Sunny.')
  mock.assertComplete()
})

test('a request that does not meet it fails with a message, for the client and for the test', async () => {
  const mock = mockModels({ script: turns({ body: { model: /^claude/, messages: [{}, {}, result] } }) })
  await ask(mock.fetch, [user])
  const refused = await ask(mock.fetch, [user, called, { ...result, content: 'rainy' }])
  const message = [
    `request 2 (POST ${url}) does not match what response 2 of the script (say) expects:`,
    '  body.model: expected /^claude/, got "gpt"',
    '  body.messages[2].content: expected "sunny", got "rainy"',
  ].join('\n')
  expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([500, 'false'])
  expect(await refused.json()).toMatchObject({ error: { message } })
  expect(() => mock.assertComplete()).toThrow(
    expect.objectContaining({
      name: 'RequestMismatchError',
      message,
      request: 2,
      differences: [{}, {}].map(() => expect.anything()),
    }),
  )
})

test('a function may check the request with the assertions of any library', async () => {
  const mock = mockModels({
    script: turns(({ body }) => expect(body).toMatchObject({ messages: [user, called, result] })),
  })
  await ask(mock.fetch, [user])
  expect((await ask(mock.fetch, [user, called, result])).status).toBe(200)

  const strict = mockModels({
    script: turns(({ number }) => {
      throw new RangeError(`not at ${number}`)
    }),
  })
  await ask(strict.fetch, [user])
  expect((await ask(strict.fetch, [user])).status).toBe(500)
  expect(() => strict.assertComplete()).toThrow(
    expect.objectContaining({
      message: `request 2 (POST ${url}) does not match what response 2 of the script (say) expects: not at 2`,
      cause: expect.any(RangeError),
    }),
  )
})

test('an async check is refused, because nothing would await it', async () => {
  const late: () => unknown = () => Promise.reject(new Error('too late'))
  const mock = mockModels({ script: turns(late) })
  await ask(mock.fetch, [user])
  expect((await ask(mock.fetch, [user])).status).toBe(500)
  expect(() => mock.assertComplete()).toThrow('is an async function')
})

test('a server checks the same expectations', async () => {
  await using server = await serveModels({ script: turns({ body: { messages: [{}, result] } }) })
  const at = `${server.url}/v1/chat/completions`
  await (await ask(fetch, [user], at)).text()
  expect((await ask(fetch, [user, user], at)).status).toBe(500)
  await expect(server.assertComplete()).rejects.toThrow('body.messages[1].role: expected "tool", got "user"')
})
