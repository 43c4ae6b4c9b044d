import { getEventListeners } from 'node:events'
import type { ScriptResponse } from '@meanwhile/assemble/testing'
import { ModelError } from '@meanwhile/core'
import { mockModels, rawResponse } from '@meanwhile/harness'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { ask, failureOf, read, requestTo } from '../test/ask.ts'
import { chat, chatChunk, claude, responses, type TestWire, wires } from '../test/wires.ts'
import { openai } from './openai.ts'

const hello = [{ type: 'text', text: 'Hello' }]

function failing(status: number, code: string, retryAfter?: number): ScriptResponse {
  const step = { type: 'fail' as const, status, code, message: 'try later', ...(retryAfter && { retryAfter }) }
  return { steps: [step], finishReason: 'error', usage: {} }
}

/** A response with these events that then stays open until the client disconnects. */
function openEnded(wire: TestWire, events: readonly object[]) {
  const state = { requests: 0, closed: false }
  const fetch: typeof globalThis.fetch = async (_, init) => {
    state.requests++
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(sse(wire, events)))
        init?.signal?.addEventListener('abort', () => {
          state.closed = true
          controller.error(init.signal?.reason)
        })
      },
      cancel() {
        state.closed = true
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { state, fetch }
}

function sse(wire: TestWire, events: readonly object[]): string {
  return events.map((event) => frame(wire, event)).join('')
}

function frame(wire: TestWire, event: object): string {
  const name = wire !== chat && 'type' in event ? `event: ${String(event.type)}\n` : ''
  return `${name}data: ${JSON.stringify(event)}\n\n`
}

test.each(wires)(
  '$name: an endpoint that responds 500 is a retryable ModelError with its code and message (A19)',
  async (wire) => {
    const { fetch } = mockModels({ script: [failing(500, 'server_error')] })
    const failure = await failureOf(ask(wire.model(fetch)))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({ status: 500, code: 'server_error', message: 'try later', retryable: true })
  },
)

test.each(wires)('$name: a 429 contains the wait before a retry (J5)', async (wire) => {
  const { fetch } = mockModels({ script: [failing(429, 'rate_limited', 1500)] })
  expect(await failureOf(ask(wire.model(fetch)))).toMatchObject({ status: 429, retryable: true, retryAfter: 1500 })
})

test.each(wires)('$name: an error inside a 200 stream is classified by its own code (A19, qT8, qT9)', async (wire) => {
  const failure = await failureOf(read(wire, [...wire.hello.slice(0, wire.cut), wire.overloaded]))
  expect(failure).toBeInstanceOf(ModelError)
  expect(failure).toMatchObject({ message: 'try later', retryable: true, partial: { content: hello } })
  expect(failure).toHaveProperty(
    'status',
    expect.toSatisfy((status) => [500, 503, 529].includes(status)),
  )
})

test.each(wires)(
  '$name: a stream that is cut is truncated, and its partial message is kept (G11, qT6, qA7)',
  async (wire) => {
    const failure = await failureOf(read(wire, wire.hello.slice(0, wire.cut)))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({ code: 'stream_truncated', retryable: true, partial: { content: hello } })
  },
)

test.each(wires)('$name: arguments that are not JSON stay text (G7)', async (wire) => {
  const { message } = await read(wire, wire.call('{"path":"/etc","force":tr'))
  expect(message.content).toEqual([
    {
      type: 'tool-call',
      id: 'call_1',
      name: 'f',
      input: '{"path":"/etc","force":tr',
      inputError: expect.stringContaining('not valid JSON'),
    },
  ])
})

test.each(wires)('$name: an abort during the stream closes the request and throws the reason itself', async (wire) => {
  const { state, fetch } = openEnded(wire, wire.hello.slice(0, wire.cut))
  const model = wire.model(fetch)
  const aborter = new AbortController()
  const flow = model.stream(requestTo(model, { signal: aborter.signal }))
  await flow.next()
  await flow.next()
  const reason = new Error('enough')
  const next = failureOf(flow.next())
  aborter.abort(reason)
  expect(await next).toBe(reason)
  expect(state.closed).toBe(true)
  expect(getEventListeners(aborter.signal, 'abort')).toHaveLength(0)
})

test.each(wires)('$name: closing the flow closes the request', async (wire) => {
  const { state, fetch } = openEnded(wire, wire.hello.slice(0, wire.cut))
  const model = wire.model(fetch)
  const flow = model.stream(requestTo(model))
  expect(state.requests).toBe(0)
  await flow.next()
  expect(state).toEqual({ requests: 1, closed: false })
  await flow.return({ role: 'assistant', content: [], finishReason: 'other' })
  expect(state).toEqual({ requests: 1, closed: true })
})

test.each(wires)('$name: with an aborted signal no request is sent', async (wire) => {
  const { state, fetch } = openEnded(wire, [])
  const reason = new Error('never mind')
  expect(await failureOf(ask(wire.model(fetch), { signal: AbortSignal.abort(reason) }))).toBe(reason)
  expect(state.requests).toBe(0)
})

test.each(wires)('$name: a finished call leaves no listener on the signal (A25)', async (wire) => {
  const { signal } = new AbortController()
  const { fetch } = mockModels({ script: [failing(500, 'server_error')] })
  await failureOf(ask(wire.model(fetch), { signal }))
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test.each(wires)('$name: a connection that fails or breaks is retryable (J2)', async (wire) => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const refused = await failureOf(
    ask(wire.model(() => Promise.reject(new TypeError('fetch failed', { cause: reset })))),
  )
  const message = 'Connection error: read ECONNRESET'
  expect(refused).toMatchObject({ name: 'ModelError', code: 'connection', retryable: true, message })

  const events = new TextEncoder().encode(sse(wire, wire.hello.slice(0, wire.cut)))
  const broken = async () => {
    let read = false
    const body = new ReadableStream({
      pull(controller) {
        if (read) controller.error(new TypeError('terminated', { cause: reset }))
        else controller.enqueue(events)
        read = true
      },
    })
    return new Response(body)
  }
  expect(await failureOf(ask(wire.model(broken)))).toMatchObject({
    name: 'ModelError',
    code: 'connection',
    message: 'terminated: read ECONNRESET',
    retryable: true,
    partial: { content: hello },
  })
})

test.each([
  ['as it is by default', undefined, 2],
  ['not at all inside retryModel (J12)', 0, 1],
])('the client retries %s', async (_, clientRetries, requests) => {
  const mock = mockModels({ script: () => failing(500, 'server_error', 1) })
  const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch, maxRetries: 1 })
  const model = openai({ client, model: 'm', api: 'chat' })
  await failureOf(ask(model, clientRetries === undefined ? {} : { clientRetries }))
  expect(mock.requests).toHaveLength(requests)
})

test.each<[string, ResponseInit, object]>([
  ['seconds', { status: 429, headers: { 'retry-after': '2' } }, { retryable: true, retryAfter: 2000 }],
  [
    'a date that has passed',
    { status: 503, headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' } },
    { retryable: true, retryAfter: 0 },
  ],
  ['nonsense', { status: 429, headers: { 'retry-after': 'soon' } }, { retryable: true }],
  ['a header against a retry', { status: 429, headers: { 'x-should-retry': 'false' } }, { retryable: false }],
  ['a header for a retry', { status: 400, headers: { 'x-should-retry': 'true' } }, { retryable: true }],
  ['an error of the request', { status: 400 }, { retryable: false }],
])('whether and when to retry: %s', async (_, init, expected) => {
  const { retryable, retryAfter } = (await failureOf(
    ask(responses.model(async () => new Response('<html></html>', init))),
  )) as ModelError
  expect({ retryable, ...(retryAfter !== undefined && { retryAfter }) }).toEqual(expected)
})

test('an HTTP error without a body has its status as message', async () => {
  const failure = await failureOf(ask(claude.model(async () => new Response(null, { status: 502 }))))
  expect(failure).toMatchObject({ name: 'ModelError', status: 502, code: '502', retryable: true })
})

test('an unknown error code is passed on, and not retried (qT10)', async () => {
  const groq = { error: { code: 'tool_use_failed', type: 'invalid_request_error', failed_generation: '<f>' } }
  expect(await failureOf(read(chat, [chatChunk({ content: 'x' }), groq]))).toMatchObject({
    name: 'ModelError',
    code: 'tool_use_failed',
    status: 400,
    retryable: false,
  })
})

test('an account without credit is not retried', async () => {
  const { fetch } = mockModels({ script: [failing(429, 'insufficient_quota')] })
  expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({ status: 429, retryable: false })
})

test.each([
  ['a page', '<html>\n<body>Bad gateway: try later</body>\n</html>\n'],
  ['an object of another kind', JSON.stringify({ ok: true })],
])('%s with status 200 is not a response (qT12)', async (_, body) => {
  const { fetch } = mockModels({ script: [rawResponse([{ bytes: body }], { wire: chat.name })] })
  expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({
    name: 'ModelError',
    code: 'invalid_chunk',
    retryable: true,
    partial: { content: [] },
  })
})

test('text after the end of the protocol, and the content of a heartbeat, are ignored (qT4)', async () => {
  const [first, ...others] = [...chat.hello].map((event) => ({ event }))
  const beats = ['event: ping\ndata: alive\n\n', 'data:  \n\n'].map((bytes) => ({ bytes }))
  const raw = [first, ...beats, ...others, { bytes: 'data: [DONE] \n\n' }].filter((step) => step !== undefined)
  const { message } = await ask(chat.model(mockModels({ script: [rawResponse(raw, { wire: chat.name })] }).fetch))
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
})

test('an error event without a name is an error as well', async () => {
  const failure = await failureOf(
    read(responses, [{ type: 'error', code: 'rate_limit_exceeded', message: 'slow down' }]),
  )
  expect(failure).toMatchObject({ code: 'rate_limit_exceeded', status: 429, message: 'slow down', retryable: true })
})

test('an error that a client throws before its request is a ModelError that is not retried', async () => {
  const client = new OpenAI({ apiKey: () => Promise.reject(new Error('no key today')) })
  const failure = await failureOf(ask(openai({ client, model: 'm' })))
  expect(failure).toMatchObject({ name: 'ModelError', code: 'unknown', retryable: false })
  expect(failure).toHaveProperty('message', expect.stringContaining('no key today'))
})

test.each(wires)(
  '$name: a request that cannot be serialized is not a connection error, and is not retried',
  async ({ model }) => {
    const fetch = async () => new Response('', { status: 200 })
    const settings = { providerOptions: { openai: { n: 1n }, anthropic: { n: 1n } } }
    const failure = await failureOf(ask(model(fetch), { settings }))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({ code: 'unknown', retryable: false })
  },
)

test.each(wires)(
  '$name: the error of a failed connection states the reason, by its code if necessary, and once (J2)',
  async (wire) => {
    const message = async (cause: unknown) => {
      const failed = await failureOf(ask(wire.model(() => Promise.reject(new TypeError('fetch failed', { cause })))))
      return failed instanceof Error ? failed.message : failed
    }
    const nobody = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
    expect(await message(nobody)).toBe('Connection error: ECONNREFUSED')
    const round = new Error('round and round')
    round.cause = round
    expect(await message(round)).toBe('Connection error: round and round')
    expect(await message(undefined)).toBe('Connection error: fetch failed')
  },
)

test.each(wires)('$name: so does an error of another kind that was caused by a connection (J2)', async (wire) => {
  const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('the body broke', { cause })) })
  const headers = { 'content-type': 'text/event-stream' }
  const failed = await failureOf(ask(wire.model(async () => new Response(body, { headers }))))
  expect(failed).toMatchObject({ name: 'ModelError', code: 'connection', retryable: true })
})

test('the words of a text in place of an event, or of a body, are in the error; a piece of JSON is not (qT19)', async () => {
  const messages: unknown[] = []
  for (const bytes of ['data: upstream timed out\n\n', 'upstream connect error', 'data: {"secret": 1\n\n', '<html>']) {
    const { fetch } = mockModels({ script: [rawResponse([{ bytes }], { wire: chat.name })] })
    const failure = await failureOf(ask(chat.model(fetch)))
    expect(failure).toMatchObject({ name: 'ModelError', code: 'invalid_chunk', retryable: true })
    messages.push(failure instanceof Error && failure.message)
  }
  expect(messages).toEqual([
    'an event could not be read: upstream timed out',
    'an event could not be read: upstream connect error',
    'an event could not be read',
    'an event could not be read',
  ])
})

test('a comment as data that the end of the body cuts off is a broken event (qT19)', async () => {
  const bytes = `data: ${JSON.stringify(chat.hello[0])}\n\ndata: : keepal`
  const { fetch } = mockModels({ script: [rawResponse([{ bytes }], { wire: chat.name })] })
  expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({ code: 'stream_truncated', retryable: true })
})

test.each<[string, object, object]>([
  [
    'a sentence with a status beside it',
    { error: 'Slow down', code: 429 },
    { message: 'Slow down', status: 429, retryable: true },
  ],
  [
    'a list (Google)',
    [{ error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } }],
    { message: 'Overloaded', status: 503, retryable: true },
  ],
  [
    'a sentence beside a mere flag',
    { error: true, message: 'Overloaded' },
    { message: 'Overloaded', data: { error: true, message: 'Overloaded' } },
  ],
  [
    'two sentences',
    { error: 'Unauthorized', message: 'token expired' },
    { message: 'token expired', data: { error: 'Unauthorized', message: 'token expired' } },
  ],
  [
    'a message alone',
    { message: 'Endpoint request timed out' },
    { message: 'Endpoint request timed out', retryable: false },
  ],
  [
    'a list of errors (Cloudflare)',
    { success: false, errors: [{ code: 7003, message: 'No route' }] },
    { message: 'No route', retryable: false },
  ],
  ['a detail (FastAPI)', { detail: 'Not here' }, { message: 'Not here', retryable: false }],
  [
    'a rate limit (MiniMax)',
    { base_resp: { status_code: 1002, status_msg: 'rate limit' } },
    { message: 'rate limit', status: 429, retryable: true },
  ],
])('an error in the form of %s has its words and its status (qT20)', async (_, error, expected) => {
  for (const bytes of [JSON.stringify(error), `data: ${JSON.stringify(error)}\n\n`]) {
    const { fetch } = mockModels({ script: [rawResponse([{ bytes }], { wire: chat.name })] })
    expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({ name: 'ModelError', ...expected })
  }
})

test('an event of an unknown kind is not an error, although it has a message or a status (qA1, qT20)', async () => {
  const events = [
    { type: 'status', message: 'Searching', code: 'searching' },
    { status: 'queued', message: 'Waiting' },
    { base_resp: { status_code: 0, status_msg: 'success' } },
    { code: 0, message: 'success' },
  ]
  const { message } = await read(chat, [...events, ...chat.hello])
  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
})

test('in an event whose name no wire has, only a sign of failure makes words an error (qA1, qT20)', async () => {
  const hello = chat.hello.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const answerTo = (data: object) => {
    const bytes = `event: status\ndata: ${JSON.stringify(data)}\n\n${hello}`
    return ask(chat.model(mockModels({ script: [rawResponse([{ bytes }], { wire: chat.name })] }).fetch))
  }
  const { message } = await answerTo({ message: 'queued' })
  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
  for (const data of [
    { error: 'queue full' },
    { code: 503, message: 'queue full' },
    { type: 'error', message: 'queue full' },
  ]) {
    expect(await failureOf(answerTo(data))).toMatchObject({ name: 'ModelError', message: 'queue full' })
  }
})

test('an error nested 50,000 levels deep keeps its words and its status, in the stream and as the body (qT20)', async () => {
  const deep = `{"error":{"code":400,"message":"Too deep","more":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`
  for (const bytes of [deep, `data: ${deep}\n\n`]) {
    const { fetch } = mockModels({ script: [rawResponse([{ bytes }], { wire: chat.name })] })
    expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({
      message: 'Too deep',
      status: 400,
      retryable: false,
    })
  }
})
