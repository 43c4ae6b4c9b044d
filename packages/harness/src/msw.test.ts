import { call, end, respond, say, wait } from '@meanwhile/assemble/testing'
import OpenAI from 'openai'
import { afterEach, expect, test, vi } from 'vitest'
import { clients } from '../test/clients.ts'
import { bodyFor } from '../test/requests.ts'
import { HarnessError } from './errors.ts'
import type { ResponseLog } from './log.ts'
import { type MockModelsOptions, mockModels } from './msw.ts'

afterEach(() => {
  vi.useRealTimers()
})

const post = (url: string, headers: Record<string, string> = {}, body = bodyFor('openai-chat')) =>
  new Request(url, { method: 'POST', headers, body })

const url = 'http://models.test/v1/chat/completions'

/** The times of all writes, in ms after the request. */
function times({ arrived, writes }: ResponseLog, of: 'due' | 'sent'): number[] {
  return writes.map((write) => write[of] - arrived)
}

async function played(options: MockModelsOptions, ms: number): Promise<ResponseLog> {
  vi.useFakeTimers()
  const mock = mockModels(options)
  const [client] = clients
  const reading = client?.read(mock)
  await vi.advanceTimersByTimeAsync(ms)
  await reading
  const [response] = mock.responses
  if (!response) throw new Error('no response')
  return response
}

test('writes are due and sent on an absolute schedule, exactly so under fake timers', async () => {
  const usage = { inputTokens: 1, outputTokens: 4 }
  const script = [respond(say('a b'), wait(100), call('f', {}, { id: 'call_f' }), end({ usage }))]
  const response = await played({ script, pace: { firstToken: 50, betweenTokens: 20 } }, 1_000)
  // The role comes with the first token; the finish reason, the usage and [DONE] with the last.
  const schedule = [50, 50, 70, 190, 210, 210, 210, 210]
  expect(times(response, 'due')).toEqual(schedule)
  expect(times(response, 'sent')).toEqual(schedule)
  expect(response.firstByte).toBe(response.arrived + 50)
  expect(response.argsDone).toEqual({ call_f: response.arrived + 210 })
  expect(response.end).toBe(response.arrived + 210)
  expect(response.lateness).toBe(0)
})

test('a late write does not delay the next ones', async () => {
  vi.useFakeTimers()
  const mock = mockModels({ script: [respond(say('a b c d'))], pace: { firstToken: 10, betweenTokens: 10 } })
  const reading = clients[1]?.read(mock)
  await vi.advanceTimersByTimeAsync(0)
  // The process is blocked: the clock continues, and nothing else runs.
  vi.advanceTimersByTime(25)
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
  const [response] = mock.responses
  if (!response) throw new Error('no response')
  const late = [25, 25, 25, 25]
  expect(times(response, 'due')).toEqual([0, 0, 10, 10, 10, 20, 30, 40, 40, 40, 40, 40])
  expect(times(response, 'sent')).toEqual([0, 0, ...late, 30, 40, 40, 40, 40, 40])
  expect(response.lateness).toBe(15)
})

test('without a pace everything comes at once', async () => {
  const response = await played({ script: [respond(say('a b c'))] }, 0)
  expect(times(response, 'sent')).toEqual([0, 0, 0, 0, 0, 0])
})

test('requests are kept in their order, without secrets', async () => {
  const mock = mockModels({ script: [respond(say('a'))] })
  const secrets = {
    authorization: 'Bearer s1',
    'x-api-key': 's2',
    'api-key': 's3',
    cookie: 's4',
    'openai-organization': 's5',
  }
  await mock.fetch(
    post(`http://models.test/v1/messages?key=s6&beta=true`, { ...secrets, 'x-other': 'kept' }, bodyFor('anthropic')),
  )
  expect(mock.requests).toEqual([
    {
      number: 1,
      wire: 'anthropic',
      method: 'POST',
      url: 'http://models.test/v1/messages?beta=true',
      headers: { 'content-type': 'text/plain;charset=UTF-8', 'x-other': 'kept' },
      body: JSON.parse(bodyFor('anthropic')),
    },
  ])
})

test('a URL that is not mocked throws, and is remembered', async () => {
  const mock = mockModels({ script: [], wires: ['openai-chat', 'anthropic'] })
  const error = new HarnessError(
    'POST http://models.test/v1/embeddings is not mocked; mocked are: POST /v1/chat/completions, /v1/messages',
  )
  await expect(mock.fetch(post('http://models.test/v1/embeddings?key=secret'))).rejects.toThrow(error)
  expect(() => mock.assertComplete()).toThrow(error)
})

test('only the configured wires and origin are mocked', async () => {
  const mock = mockModels({ script: [respond(say('a'))], wires: ['openai-chat'], origin: 'http://models.test' })
  await expect(mock.fetch(post('http://models.test/v1/messages'))).rejects.toThrow('is not mocked')
  await expect(mock.fetch(post('http://other.test/v1/chat/completions'))).rejects.toThrow('is not mocked')
  expect((await mock.fetch(post(url))).status).toBe(200)
})

test('under setupServer a request that is not mocked reaches no network', async () => {
  using mock = mockModels({ script: [], wires: ['anthropic'], origin: 'http://models.test' })
  mock.listen()
  const response = await fetch('http://127.0.0.1:8123/v1/embeddings')
  const message =
    'GET http://127.0.0.1:8123/v1/embeddings is not mocked; mocked are: POST http://models.test/v1/messages'
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([500, 'false'])
  expect(await response.json()).toEqual({ error: { message } })
  expect(() => mock.assertComplete()).toThrow(new HarnessError(message))
})

test('a function responds depending on the request', async () => {
  const mock = mockModels({
    script: ({ body }) => {
      const { model } = body as { model: string }
      return model === 'known' ? respond(say('I know')) : undefined
    },
  })
  const known = await mock.fetch(post(url, {}, bodyFor('openai-chat', { model: 'known' })))
  expect(await known.text()).toContain('"content":" know"')
  const unknown = await mock.fetch(post(url, {}, bodyFor('openai-chat', { model: 'unknown' })))
  expect([unknown.status, unknown.headers.get('x-should-retry')]).toEqual([500, 'false'])
  expect(() => mock.assertComplete()).toThrow(
    `request 2 (POST ${url}) was not expected: the script function returned no response`,
  )
})

test('a function that throws fails the request, with a message', async () => {
  const mock = mockModels({
    script: () => {
      throw new TypeError('mine')
    },
  })
  const response = await mock.fetch(post(url))
  expect(response.status).toBe(500)
  expect(() => mock.assertComplete()).toThrow('the script failed at request 1: mine')
})

test('unused responses are named', async () => {
  const mock = mockModels({ script: [respond(say('a')), respond(call('f', {})), respond()] })
  await mock.fetch(post(url))
  expect(() => mock.assertComplete()).toThrow('2 of 3 responses were not used: response 2 (call f), response 3 (empty)')
})

test('a request without "stream": true gets an error with the reason', async () => {
  const mock = mockModels({ script: [respond(say('a'))] })
  const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
  const request = client.chat.completions.create({ model: 'gpt', messages: [{ role: 'user', content: 'Hi' }] })
  await expect(request).rejects.toThrow('only streams are supported')
})

test('with an aborted signal no request is accepted', async () => {
  const mock = mockModels({ script: [respond(say('a'))] })
  const reason = new Error('never mind')
  await expect(mock.fetch(url, { method: 'POST', body: '{}', signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(mock.requests).toEqual([])
})

test('an abort before the first byte rejects the fetch, a later one fails the body, with the reason', async () => {
  const pace = { firstToken: 5, betweenTokens: 1_000 }
  const mock = mockModels({ script: [respond(say('a b')), respond(say('a b'))], pace })
  const body = bodyFor('openai-chat')
  const early = new AbortController()
  const fetching = mock.fetch(url, { method: 'POST', body, signal: early.signal })
  early.abort(new Error('too slow'))
  await expect(fetching).rejects.toThrow('too slow')

  const later = new AbortController()
  const response = await mock.fetch(url, { method: 'POST', body, signal: later.signal })
  const reading = response.text()
  later.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  expect(mock.responses.map((log) => log.aborted)).toEqual([true, true])
})

test('a slow reader delays the response, as with a socket', async () => {
  const mock = mockModels({ script: [respond(...Array.from({ length: 501 }, () => say('x'.repeat(1_000))))] })
  const response = await mock.fetch(post(url))
  const reader = response.body?.getReader()
  await reader?.read()
  await new Promise((resolve) => setTimeout(resolve, 5))
  const sent = mock.responses[0]?.writes.length ?? 0
  expect(sent).toBeLessThan(100)
  while (!(await reader?.read())?.done);
  expect(mock.responses[0]?.writes.length).toBeGreaterThan(500)
})
