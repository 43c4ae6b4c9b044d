import Anthropic from '@anthropic-ai/sdk'
import { mockModels, rawResponse } from '@meanwhile/harness'
import { expectLinear } from '@meanwhile/tests/growth'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ask, failureOf, requestTo } from '../test/ask.ts'
import { chat, chatChunk, claude, responses, type TestWire, wires } from '../test/wires.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Responds with these events, one every `every` ms, and then with silence. */
function stalling(wire: TestWire, every: number, events: readonly object[]) {
  const steps = events.map((event) => ({ after: every, event }))
  const raw = [{ bytes: '' }, ...steps, { end: 'stall' as const }]
  return mockModels({ script: [rawResponse(raw, { wire: wire.name })] })
}

test.each(wires)(
  '$name: a stream that becomes silent is ended when its time is over, not before (qT7)',
  async (wire) => {
    const { fetch } = stalling(wire, 900, wire.hello.slice(0, wire.cut))
    const failure = failureOf(ask(wire.model(fetch, { idleTimeout: 1_000 })))
    let failed = false
    void failure.then(() => {
      failed = true
    })
    await vi.advanceTimersByTimeAsync(wire.cut * 900 + 50)
    expect(failed).toBe(false)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await failure).toMatchObject({
      name: 'ModelError',
      code: 'idle_timeout',
      retryable: true,
      partial: { content: [{ type: 'text', text: 'Hello' }] },
    })
  },
)

/** The events of a response, and the end of its protocol. */
function whole(wire: TestWire) {
  const events = wire.hello.map((event) => ({ event }))
  return wire === chat ? [...events, { bytes: 'data: [DONE]\n\n' }] : events
}

test.each(wires)(
  '$name: a body that continues after its protocol is cancelled after half a second, and leaves no timer behind (qT13)',
  async (wire) => {
    const raw = [...whole(wire), { end: 'stall' as const }]
    const { fetch } = mockModels({ script: [rawResponse(raw, { wire: wire.name })] })
    let message: unknown
    const asked = ask(wire.model(fetch, { idleTimeout: 10_000 })).then((answer) => {
      message = answer.message
    })
    await vi.advanceTimersByTimeAsync(490)
    expect(message).toBeUndefined()
    await vi.advanceTimersByTimeAsync(20)
    await asked
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
    expect(vi.getTimerCount()).toBe(0)
  },
)

test.each(wires)('$name: an error after the protocol has ended has no effect (qT13)', async (wire) => {
  const raw = [...whole(wire), { end: 'reset' as const }]
  const { fetch } = mockModels({ script: [rawResponse(raw, { wire: wire.name })] })
  expect((await ask(wire.model(fetch))).message).toMatchObject({ finishReason: 'stop' })
})

/** A call, a second end, an error, and data that is not an event. */
function following(wire: TestWire) {
  const events = [...wire.call('{}'), ...wire.hello, wire.overloaded, '{"cut":']
  return events.map((event) => ({ event }))
}

test.each(wires)(
  '$name: events after the end of the protocol are not read, however soon they arrive (P1)',
  async (wire) => {
    for (const after of [0, 1, 40, 700]) {
      const raw = [...whole(wire), { bytes: '\n', after }, ...following(wire)]
      for (const slice of ['whole', 'event', { bytes: 3 }] as const) {
        const { fetch } = mockModels({ script: [rawResponse(raw, { wire: wire.name, slice })] })
        const asked = ask(wire.model(fetch))
        await vi.advanceTimersByTimeAsync(2_000)
        const { message, events } = await asked
        expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
        expect(events.map((event) => event.type)).toEqual(['text-delta', 'text-delta'])
      }
    }
  },
)

test.each(wires)(
  '$name: a body that continues endlessly after its protocol is cancelled after half a second (P1)',
  async (wire) => {
    const encoder = new TextEncoder()
    const { fetch: played } = mockModels({ script: [rawResponse(whole(wire), { wire: wire.name })] })
    let isLeft = false
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const start = new Uint8Array(await (await played(input, init)).arrayBuffer())
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(start),
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 10))
          controller.enqueue(encoder.encode('data: {}\n\n'))
        },
        cancel() {
          isLeft = true
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
    const asked = ask(wire.model(fetch))
    await vi.advanceTimersByTimeAsync(600)
    expect((await asked).message).toMatchObject({ finishReason: 'stop' })
    expect(isLeft).toBe(true)
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1)
  },
)

test.each([
  ['pings', claude, { type: 'ping' }],
  ['empty deltas', chat, chatChunk({ content: '', tool_calls: [] })],
  ['empty pieces of text', claude, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '' } }],
  ['keepalive events', responses, { type: 'keepalive', sequence_number: 3 }],
  ['pings on another wire', responses, { type: 'ping' }],
  ['events without a type', responses, { sent_at: 3 }],
  ['such events', claude, { sent_at: 3 }],
  ['usage', chat, { choices: [], usage: { prompt_tokens: 1 } }],
])('%s count as silence (qT4)', async (_, wire, event) => {
  const { fetch } = stalling(wire, 100, [...wire.hello.slice(0, 1), ...Array.from({ length: 50 }, () => event)])
  const failure = failureOf(ask(wire.model(fetch, { idleTimeout: 1_000 })))
  await vi.advanceTimersByTimeAsync(1_300)
  expect(await failure).toMatchObject({ code: 'idle_timeout' })
})

test('the reader’s own time does not count', async () => {
  const { fetch } = mockModels({ script: [rawResponse(chat.hello.map((event) => ({ event })))] })
  const model = chat.model(fetch, { idleTimeout: 1_000 })
  const flow = model.stream(requestTo(model))
  await flow.next()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await flow.next()).toMatchObject({ value: { type: 'text-delta', delta: 'lo' } })
  expect(await flow.next()).toMatchObject({ done: true })
  expect(vi.getTimerCount()).toBe(0)
})

test('without a limit a stream may be silent for any time', async () => {
  const events = chat.hello.map((event) => ({ after: 86_400_000, event }))
  const { fetch } = mockModels({ script: [rawResponse([{ bytes: '' }, ...events])] })
  const asked = ask(chat.model(fetch, { idleTimeout: Number.POSITIVE_INFINITY }))
  await vi.advanceTimersByTimeAsync(4 * 86_400_000)
  expect((await asked).message.content).toEqual([{ type: 'text', text: 'Hello' }])
})

test('an event without an end is given up before it fills the memory', async () => {
  const line = new TextEncoder().encode('x'.repeat(1024 * 1024))
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(sent++ === 0 ? new TextEncoder().encode('data: ') : line)
      if (sent === 1_000) controller.close()
    },
  })
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  expect(await failureOf(ask(chat.model(fetch)))).toMatchObject({ code: 'invalid_chunk', retryable: true })
  expect(sent).toBeLessThan(70)
})

test('a body that ignores its signal is cancelled, too', async () => {
  let left = false
  const body = new ReadableStream({
    cancel() {
      left = true
    },
  })
  const failure = failureOf(ask(chat.model(async () => new Response(body), { idleTimeout: 1_000 })))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await failure).toMatchObject({ code: 'idle_timeout' })
  expect(left).toBe(true)
})

test('the client makes the request: with its key, its base URL, its headers and its retries', async () => {
  const seen: Request[] = []
  const mock = mockModels({
    script: [
      rawResponse([], { status: 503, headers: { 'retry-after-ms': '5' } }),
      rawResponse(claude.hello.map((event) => ({ event }))),
    ],
  })
  const client = new Anthropic({
    apiKey: 'key',
    baseURL: 'http://proxy.test/base',
    defaultHeaders: { 'x-mine': '1' },
    maxRetries: 1,
    fetch(input, init) {
      const request = new Request(input, init)
      seen.push(request)
      return mock.fetch(request.url.replace('/base', ''), init)
    },
  })
  const asked = ask(anthropic({ client, model: 'm' }))
  await vi.advanceTimersByTimeAsync(2_000)
  expect((await asked).message.content).toEqual([{ type: 'text', text: 'Hello' }])
  expect(seen.map(({ url, headers }) => [url, headers.get('authorization'), headers.get('x-mine')])).toEqual([
    ['http://proxy.test/base/v1/messages', 'Bearer key', '1'],
    ['http://proxy.test/base/v1/messages', 'Bearer key', '1'],
  ])
})

/** A client that exposes its stream but not its response. */
function wrapped(fetch: typeof globalThis.fetch) {
  const client = new OpenAI({ apiKey: 'none', fetch, logLevel: 'off' })
  return {
    baseURL: client.baseURL,
    responses: {
      create: async (...given: Parameters<typeof client.responses.create>) =>
        (await client.responses.create(...given)) as AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
    },
    chat: {
      completions: {
        create: async (...given: Parameters<typeof client.chat.completions.create>) =>
          (await client.chat.completions.create(...given)) as AsyncIterable<OpenAI.ChatCompletionChunk>,
      },
    },
  }
}

test('a wrapped client that does not expose its response is read through its own stream', async () => {
  const { fetch } = mockModels({ script: [rawResponse(chat.hello.map((event) => ({ event })))] })
  const { message } = await ask(openai({ client: wrapped(fetch), model: 'm', api: 'chat' }))
  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
})

test('such a stream, too, is not read after the end, and is cancelled after half a second (P1)', async () => {
  const { fetch } = mockModels({
    script: [rawResponse([...whole(responses), ...following(responses), { end: 'stall' }], { wire: responses.name })],
  })
  const asked = ask(openai({ client: wrapped(fetch), model: 'm' }))
  await vi.advanceTimersByTimeAsync(600)
  const { message, events } = await asked
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
  expect(events.map((event) => event.type)).toEqual(['text-delta', 'text-delta'])
})

test('a response that is not an event stream is read by its client', async () => {
  const headers = { 'content-type': 'application/vnd.amazon.eventstream' }
  const sse = (event: object) =>
    `event: ${'type' in event ? String(event.type) : ''}\ndata: ${JSON.stringify(event)}\n\n`
  const parsed = claude.hello.map((event) => ({ ...event, parsed: true }))
  // Anthropic's own stream, which reads every type as Server-Sent Events, replaces Bedrock's.
  const { message } = await ask(claude.model(async () => new Response(parsed.map(sse).join(''), { headers })))
  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
  const cut = parsed.map(sse).join('').trimEnd()
  expect(await failureOf(ask(claude.model(async () => new Response(cut, { headers }))))).toMatchObject({
    code: 'stream_truncated',
  })
})

test('a stream that ends inside an event is truncated, one with an unreadable event is not (qT5)', async () => {
  const of = (text: string) => failureOf(ask(chat.model(async () => new Response(text))))
  expect(await of('data: {"choices":[{"del')).toMatchObject({ code: 'stream_truncated', retryable: true })
  expect(await of('data: {"choices":[{"del\n\ndata: [DONE]\n\n')).toMatchObject({
    code: 'invalid_chunk',
    retryable: true,
  })
  expect(await of('data: 7\n\n')).toMatchObject({ code: 'invalid_chunk', retryable: true })
  expect(await of('data: {"choices":7}\n\n')).toMatchObject({ code: 'invalid_chunk', retryable: true })
})

test('the first event of a body in memory is reported before all is read: the event loop is not blocked (P9)', async () => {
  const event = `data: ${JSON.stringify(chatChunk({ content: 'on ' }))}\n\n`
  const body = new TextEncoder().encode(event.repeat(10_000))
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const parse = vi.spyOn(JSON, 'parse')
  const model = chat.model(fetch)
  const flow = model.stream(requestTo(model))
  expect(await flow.next()).toMatchObject({ value: { type: 'text-delta', delta: 'on ' } })
  expect(parse.mock.calls.length).toBeLessThan(1_000)
  await flow.return(undefined as never)
  parse.mockRestore()
})

test('a body is read in linear time, in however many lines it comes (qT12)', async () => {
  vi.useRealTimers()
  await expectLinear(500, async (count) => {
    const content = Array.from({ length: count }, () => ({ type: 'text', text: 'x' }))
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
    const json = JSON.stringify({ id: 'r', choices: [choice] }, null, 2)
    const { message } = await ask(chat.model(async () => new Response(json)))
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'x'.repeat(count) }] })
    const page = `<html>\n${'<p>no\n'.repeat(5 * count)}</html>`
    const failure = await failureOf(ask(chat.model(async () => new Response(page))))
    expect(failure).toMatchObject({ name: 'ModelError', code: 'invalid_chunk' })
  })
})

/** A stream that nobody cancels ends by itself after this many milliseconds: while it goes on, no test can end it. */
const ESCAPES = 20_000

test('chunks that come outside of events, over several lines each, are read in their place, however many there are (qT22)', async () => {
  const events = ['one ', 'two ', 'three ', 'four'].map((content) => chatChunk({ content }))
  const lines = events.map((event, n) =>
    n % 2 === 0 ? JSON.stringify(event, null, 2) : `data: ${JSON.stringify(event)}\n`,
  )
  const body = [...lines, `data: ${JSON.stringify(chatChunk({}, 'stop'))}\n`, 'data: [DONE]\n\n'].join('\n')
  const { message } = await ask(chat.model(async () => new Response(body)))
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'one two three four' }], finishReason: 'stop' })
})

test('a body that continues after its end and never waits is cancelled after half a second (P9)', async () => {
  vi.useRealTimers()
  const bytes = new TextEncoder().encode('data: [DONE]\n\n')
  const begin = performance.now()
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (performance.now() - begin < ESCAPES) controller.enqueue(bytes)
      else controller.close()
    },
    cancel() {
      isCancelled = true
    },
  })
  const fetch = async () => new Response(endless, { headers: { 'content-type': 'text/event-stream' } })
  const failure = failureOf(ask(chat.model(fetch)))
  expect(await failure).toMatchObject({ name: 'ModelError', code: 'stream_truncated' })
  expect(isCancelled).toBe(true)
})

test('so is a client’s own stream that ignores its signal (P1, P9)', async () => {
  vi.useRealTimers()
  const begin = performance.now()
  let hasEscaped = false
  async function* endless() {
    yield* responses.hello
    while (performance.now() - begin < ESCAPES) yield* responses.call('{}')
    hasEscaped = true
  }
  const create = async () => endless() as AsyncIterable<OpenAI.Responses.ResponseStreamEvent>
  const client = { ...wrapped(globalThis.fetch), responses: { create } }
  const { message } = await ask(openai({ client, model: 'm' }))
  expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
  expect(hasEscaped).toBe(false)
})
