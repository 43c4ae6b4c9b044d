import { call, cut, end, fail, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import {
  type AssistantMessage,
  type AssistantPart,
  callsOf,
  createAgent,
  type Model,
  ModelError,
  tool,
} from '@meanwhile/core'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import { handMade } from '../test/ai-sdk.ts'
import { ask, failureOf, requestTo } from '../test/ask.ts'
import { tools } from '../test/history.ts'
import { type RealModel, realModels } from '../test/real-models.ts'
import { chat, chatChunk } from '../test/wires.ts'
import { type AiSdkModel, aiSdk } from './ai-sdk.ts'

const usage = { inputTokens: 12, outputTokens: 34 }

const script: readonly ScriptResponse[] = [
  respond(say('It is sunny — 東京.'), end({ usage })),
  respond(say('Let me look.'), call('weather', { city: 'Zürich' }), call('weather', { city: 'Bern' }), end({ usage })),
  respond(call('weather', {}), end({ usage })),
  respond(call('weather', '{"city":"Zü'), end({ usage })),
  respond(say('A long st'), end({ finishReason: 'length', usage })),
  respond(say('No.'), end({ finishReason: 'content-filter', usage })),
]

/** The part of a message on which both adapters must agree: without opaque metadata and the provider's own words. */
function essence({ content, finishReason, usage }: AssistantMessage): object {
  return { content: content.map(bare), finishReason, usage: { ...NO_CACHE, ...usage } }
}

/** The AI SDK reports 0 where the wire reports nothing. */
const NO_CACHE = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

function bare({ providerMetadata: _, ...part }: AssistantPart): object {
  return part
}

test.each(realModels)('$title: the messages are those of our own adapter (G1)', async ({ own, model }) => {
  for (const response of script) {
    const direct = await ask(own.model(mockModels({ script: [response] }).fetch), { tools })
    const through = await ask(aiSdk(model(mockModels({ script: [response] }).fetch)), { tools })
    expect(essence(through.message)).toEqual(essence(direct.message))
  }
})

test.each(realModels)(
  '$title: for every call the input is ready, then closes, then is sealed, and equals the message (G1, G3, G4, B5)',
  async (real) => {
    const { fetch } = mockModels({ script: [respond(call('weather', { city: 'Zürich' }), end({ usage }))] })
    const { events, message } = await ask(aiSdk(real.model(fetch)), { tools })
    const sealed = message.content.find((part) => part.type === 'tool-call')
    expect(sealed).toMatchObject({ name: 'weather', input: { city: 'Zürich' } })
    const types = events.map((event) => event.type).filter((type) => type !== 'tool-input-delta')
    expect(types).toEqual(['tool-input-start', 'tool-input-ready', 'tool-input-closed', 'tool-call'])
    expect(events.at(-1)).toMatchObject({ call: sealed })
  },
)

test.each(realModels)(
  '$title: the input of a call closes before the next part, even though Chat seals late (G3, G4)',
  async (real) => {
    const { fetch } = mockModels({ script: [respond(call('weather', { city: 'Bern' }), say('More.'), end({ usage }))] })
    const { events } = await ask(aiSdk(real.model(fetch)), { tools })
    const told = ['tool-input-closed', 'tool-call', 'text-delta']
    expect(events.map((event) => event.type).filter((type) => told.includes(type))).toEqual(
      real.wire === 'openai-chat' ? ['tool-input-closed', 'text-delta', 'tool-call'] : told,
    )
  },
)

test.each(realModels)(
  '$title: a stream that is cut is truncated, and its partial message is kept (G11, qT6, qA7)',
  async (real) => {
    const { fetch } = mockModels({ script: [respond(say('Hello'), cut())] })
    const failure = await failureOf(ask(aiSdk(real.model(fetch))))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({
      code: 'stream_truncated',
      retryable: true,
      partial: { content: [{ text: 'Hello' }] },
    })
  },
)

test.each(realModels)(
  '$title: an HTTP error has its status, its code and the wait before a retry (A19, J5)',
  async (real) => {
    const step = fail({ status: 429, code: 'rate_limit_exceeded', message: 'slow down', retryAfter: 1500 })
    const { fetch } = mockModels({ script: [respond(step)] })
    const failure = await failureOf(ask(aiSdk(real.model(fetch))))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({ status: 429, message: 'slow down', retryable: true, retryAfter: 1500 })
    const direct = await failureOf(ask(real.own.model(mockModels({ script: [respond(step)] }).fetch)))
    expect(failure).toHaveProperty('code', direct instanceof ModelError && direct.code)
  },
)

const beginning = realModels.filter(({ wire }) => wire !== 'openai-chat')

/** Every form of a row of the catalogue, for this model. */
function formsOf(row: string, real: RealModel) {
  return quirks
    .filter(({ id, wire }) => id === row && wire === real.wire)
    .map((quirk) => ({ ...quirk, model: aiSdk(real.model(mockModels({ script: [quirkResponse(quirk)] }).fetch)) }))
}

test.each(beginning)(
  '$title: a second response in the stream of the first is a retryable error (P1, qT14)',
  async (real) => {
    for (const { model } of formsOf('T14', real)) {
      expect(await failureOf(ask(model))).toMatchObject({ name: 'ModelError', retryable: true })
    }
  },
)

// Version 2 of OpenAI's provider accepts no end without token counts.
const ending = beginning.filter(({ title }) => !title.endsWith('(v2)'))

test.each(ending)('$title: calls that share an id are separate calls (P3, qR15, qA14)', async (real) => {
  const [first, second] = formsOf(real.wire === 'anthropic' ? 'A14' : 'R15', real)
  for (const form of [first, second]) {
    if (!form) throw new Error('no such row')
    const calls = callsOf((await ask(form.model)).message)
    expect(calls).toMatchObject(form.expected.calls ?? [])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  }
})

test.each(beginning.filter(({ wire }) => wire === 'anthropic'))(
  '$title: a call that starts with two names is an error (P2, qA15)',
  async (real) => {
    const [twice] = formsOf('A15', real)
    if (!twice) throw new Error('no such row')
    expect(await failureOf(ask(twice.model))).toMatchObject({ code: 'invalid_chunk', retryable: true })
  },
)

test.each(ending)('$title: a response that begins twice is one (P1, qT15)', async (real) => {
  for (const { model, expected } of formsOf('T15', real)) {
    expect(callsOf((await ask(model)).message)).toMatchObject(expected.calls ?? [])
  }
})

const onChat = realModels.filter(({ wire }) => wire === 'openai-chat')

/** The quirks whose chunks its package accepts: none without an index, and in version 2 no index without a name. */
function chatForms(...rows: readonly string[]) {
  const forms = quirks.filter(
    ({ id, wire, title }) =>
      rows.includes(id) && wire === 'openai-chat' && !/without an index|has no index|ids are numbers/.test(title),
  )
  return onChat.flatMap((real) =>
    forms
      .filter(
        ({ id, expected, title }) =>
          !real.title.endsWith('(v2)') || 'error' in expected || (id !== 'C50' && !title.endsWith('without its name')),
      )
      .map((quirk) => ({ ...real, quirk, row: quirk.id, form: quirk.title })),
  )
}

const isAnswered = ({ quirk }: ReturnType<typeof chatForms>[number]) => !('error' in quirk.expected)
const places = chatForms('C50', 'C51', 'C52', 'C53', 'C54', 'C55', 'C57', 'C61')

test.each([...chatForms('C9', 'C17', 'C18', 'C47', 'C48'), ...places.filter(isAnswered)])(
  '$title: the calls are read from the chunks, exactly as they were meant: $form (P2, P3, P21, q$row)',
  async ({ quirk, model }) => {
    const { tools: declared, expected } = quirk.declared ?? {
      tools: [{ name: 'f' }, { name: 'g' }, { name: 'read_file' }],
      expected: quirk.expected,
    }
    const ran: string[] = []
    const named = declared.map(({ name }) =>
      tool({
        name,
        description: name,
        input: z.looseObject({}),
        execute: (input) => void ran.push(`${name} ${JSON.stringify(input)}`),
      }),
    )
    const { fetch } = mockModels({ script: [quirkResponse(quirk), respond(say('Done.'))] })
    await createAgent({ model: aiSdk(model(fetch)), tools: named }).run('Go')
    expect(ran).toEqual(expected.calls?.map(({ name, input }) => `${name} ${JSON.stringify(input)}`))
  },
)

test.each(places.filter((form) => !isAnswered(form)))(
  '$title: arguments that may belong to another call fail the response, and nothing runs: $form (q$row)',
  async ({ quirk, model }) => {
    const failure = await failureOf(ask(aiSdk(model(mockModels({ script: [quirkResponse(quirk)] }).fetch))))
    expect(failure).toMatchObject({ name: 'ModelError', code: 'invalid_chunk', retryable: true })
  },
)

test.each(chatForms('T19').filter(({ form }) => form === 'comments come as data'))(
  '$title: comments as data are silence (q$row)',
  async ({ quirk, model }) => {
    const { message } = await ask(aiSdk(model(mockModels({ script: [quirkResponse(quirk)] }).fetch)))
    expect(message).toMatchObject({ content: [{ type: 'text', text: '東京' }], finishReason: 'stop' })
  },
)

test.each(chatForms('T20').filter(({ form }) => /in the stream/.test(form)))(
  '$title: an error keeps its words and its status: $form (q$row)',
  async ({ quirk, model, own }) => {
    const errorOf = async (asked: Model) => {
      const { message, status, retryable } = (await failureOf(ask(asked))) as ModelError
      return { message, status, retryable }
    }
    const fetch = () => mockModels({ script: [quirkResponse(quirk)] }).fetch
    expect(await errorOf(aiSdk(model(fetch())))).toEqual(await errorOf(own.model(fetch())))
  },
)

test.each(chatForms('T14'))(
  '$title: a second response in its stream fails it: $form (P1, q$row)',
  async ({ quirk, model }) => {
    const failure = await failureOf(ask(aiSdk(model(mockModels({ script: [quirkResponse(quirk)] }).fetch))))
    expect(failure).toMatchObject({ name: 'ModelError', retryable: true })
  },
)

const afterEnd = chatForms('T16').filter(({ form }) => form.startsWith('a second response'))

test.each(afterEnd)('$title: nothing after its end becomes a call: $form (P1, q$row)', async ({ quirk, model }) => {
  const { message } = await ask(aiSdk(model(mockModels({ script: [quirkResponse(quirk)] }).fetch)))
  expect(callsOf(message)).toMatchObject(quirk.expected.calls ?? [])
})

test.each(onChat)('$title: nor is anything after its end added to its text (P1, qT16)', async (real) => {
  const under = (id: string, delta: object, finish_reason: string | null = null) =>
    JSON.stringify({ id, object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] })
  const first = [under('1', { role: 'assistant', content: 'Hello' }), under('1', {}, 'stop')]
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }
  const second = [
    under('2', { role: 'assistant', content: 'Again' }),
    under('2', { content: '.', tool_calls: [call] }),
    under('2', {}, 'tool_calls'),
  ]
  const script = [recordedResponse('openai-chat', [...first, ...second])]
  const { message } = await ask(aiSdk(real.model(mockModels({ script }).fetch)))
  expect(message.content.map(bare)).toEqual([{ type: 'text', text: 'Hello' }])
  expect(message.finishReason).toBe('stop')
})

test.each(onChat)('$title: text precedes a call that comes with it (G12)', async (real) => {
  const piece = (id: string, name: string) => ({
    index: 0,
    id,
    type: 'function',
    function: { name, arguments: '{"x":1}' },
  })
  const events = [
    chatChunk({ role: 'assistant', content: 'Look.', tool_calls: [piece('a', 'f')] }),
    chatChunk({ tool_calls: [{ ...piece('b', 'g'), index: 1 }] }),
    chatChunk({}, 'tool_calls'),
  ]
  const script = () => [
    recordedResponse(
      'openai-chat',
      events.map((event) => JSON.stringify(event)),
    ),
  ]
  const { content } = (await ask(aiSdk(real.model(mockModels({ script: script() }).fetch)))).message
  const own = (await ask(chat.model(mockModels({ script: script() }).fetch))).message
  expect(content.map(bare)).toEqual(own.content.map(bare))
})

test('metadata that its provider attaches to a call stays with it, and a call that the provider made itself is not among the chunks (G12, G16)', async () => {
  const chunk = (piece: object) => ({ type: 'raw', rawValue: chatChunk({ tool_calls: [piece] }) }) as const
  const signed = { google: { thoughtSignature: 's' } }
  const kept = { 'ai-sdk:google': signed.google }
  class Chunked {
    readonly specificationVersion = 'v4'
    readonly provider = 'google.chat'
    readonly modelId = 'm'
    readonly supportedUrls = {}
    async doStream() {
      const stream = ReadableStream.from([
        chunk({ index: 0, function: { name: 'f', arguments: '{"x":1}' } }),
        { type: 'tool-input-start', id: 'made', toolName: 'f' },
        { type: 'tool-input-delta', id: 'made', delta: '{"x":1}' },
        { type: 'tool-call', toolCallId: 'made', toolName: 'f', input: '{"x":1}', providerMetadata: signed },
        { type: 'tool-input-start', id: 'own', toolName: 'search', providerExecuted: true },
        { type: 'tool-call', toolCallId: 'own', toolName: 'search', input: '{"q":1}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'own', toolName: 'search', result: 'found' },
        chunk({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } }),
        { type: 'tool-input-start', id: 'b', toolName: 'g', providerMetadata: signed },
        chunk({ index: 1, function: { arguments: '}' } }),
        { type: 'raw', rawValue: chatChunk({}, 'tool_calls') },
        { type: 'finish', finishReason: 'tool-calls', usage },
      ] as const)
      return { stream }
    }
  }
  const { content } = (await ask(aiSdk(new Chunked()))).message
  expect(content).toMatchObject([
    { name: 'f', input: { x: 1 }, providerMetadata: kept },
    { id: 'own', name: 'search', input: { q: 1 }, providerResult: 'found' },
    { id: 'b', name: 'g', input: {}, providerMetadata: kept },
  ])
  expect(content).toHaveLength(3)
})

/** A model whose package received these chunks and made these parts of them. */
function chunked(...parts: readonly object[]): Model {
  class Chunked {
    readonly specificationVersion = 'v4'
    readonly provider = 'some.chat'
    readonly modelId = 'm'
    readonly supportedUrls = {}
    async doStream() {
      return { stream: ReadableStream.from(parts) as Awaited<ReturnType<AiSdkModel['doStream']>>['stream'] }
    }
  }
  return aiSdk(new Chunked())
}

test('everything in a chunk that its package could not read is read from the raw chunk (qC17, qC25)', async () => {
  const delta = { reasoning_content: 'Hm.', content: 'Hi' }
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  const { message } = await ask(
    chunked(
      { type: 'raw', rawValue: { choices: [{ index: 0, delta }], usage } },
      { type: 'error', error: Object.assign(new Error('unreadable'), { name: 'AI_TypeValidationError' }) },
      { type: 'raw', rawValue: chatChunk({}, 'stop') },
      { type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage: {} },
    ),
  )
  expect(message).toMatchObject({
    content: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Hi' },
    ],
    finishReason: 'stop',
    usage: { inputTokens: 3, outputTokens: 4 },
  })
})

test('a whole message with an empty delta is read from the raw chunk (qC55)', async () => {
  const choice = { index: 0, delta: {}, message: { content: 'Hi' }, finish_reason: 'stop' }
  const { message } = await ask(
    chunked(
      { type: 'raw', rawValue: { choices: [choice] } },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} },
    ),
  )
  expect(message.content).toEqual([{ type: 'text', text: 'Hi' }])
})

test('for a wrapped model of the AI SDK no chunks are requested, and its calls come from its parts', async () => {
  for (const real of onChat) {
    const inner = real.model(mockModels({ script: [respond(call('f', { x: 1 }))] }).fetch)
    const asked: unknown[] = []
    const wrapped = {
      specificationVersion: inner.specificationVersion,
      provider: inner.provider,
      modelId: inner.modelId,
      supportedUrls: {},
      async doStream(options: Parameters<typeof inner.doStream>[0]) {
        asked.push(options)
        const { stream } = await (inner.doStream as (options: unknown) => ReturnType<typeof inner.doStream>)(options)
        const renaming = new TransformStream({
          transform(part, controller) {
            controller.enqueue('toolName' in part ? { ...part, toolName: 'renamed' } : part)
          },
        })
        return { stream: stream.pipeThrough(renaming) }
      },
    } as AiSdkModel
    expect(callsOf((await ask(aiSdk(wrapped))).message)).toMatchObject([{ name: 'renamed', input: { x: 1 } }])
    expect(asked).not.toContainEqual(expect.objectContaining({ includeRawChunks: true }))
  }
})

const openai = realModels.filter(({ wire }) => wire !== 'anthropic')

test.each(openai)('$title: an account without credit is not retried', async (real) => {
  const { fetch } = mockModels({ script: [respond(fail({ status: 429, code: 'insufficient_quota' }))] })
  expect(await failureOf(ask(aiSdk(real.model(fetch))))).toMatchObject({ status: 429, retryable: false })
})

test.each(realModels)(
  '$title: an error inside a 200 stream is classified by its own code (A19, qT8, qT9)',
  async (real) => {
    const step = fail({ status: 529, code: 'overloaded_error', message: 'try later' })
    const { fetch } = mockModels({ script: [respond(say('Hello'), step)] })
    const failure = await failureOf(ask(aiSdk(real.model(fetch))))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({ message: 'try later', retryable: true, partial: { content: [{ text: 'Hello' }] } })
  },
)

test.each(realModels)('$title: a broken connection is retryable (J2)', async (real) => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: reset }))
  const failure = await failureOf(ask(aiSdk(real.model(fetch))))
  expect(failure).toMatchObject({ name: 'ModelError', code: 'connection', retryable: true })
})

/** A response that contains hello and then stays open. */
function openEnded() {
  const state = { requests: 0, closed: false }
  const fetch: typeof globalThis.fetch = async (_, init) => {
    state.requests++
    const body = new ReadableStream({
      start(controller) {
        for (const event of chat.hello.slice(0, chat.cut)) {
          controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`))
        }
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

test.each(onChat)(
  '$title: nothing is requested before the flow is read, and closing it closes the request',
  async (real) => {
    const { state, fetch } = openEnded()
    const model = aiSdk(real.model(fetch))
    const flow = model.stream(requestTo(model))
    expect(state.requests).toBe(0)
    await flow.next()
    expect(state).toEqual({ requests: 1, closed: false })
    await flow.return({ role: 'assistant', content: [], finishReason: 'other' })
    // The AI SDK's pipes pass it on later.
    await vi.waitFor(() => expect(state).toEqual({ requests: 1, closed: true }), { timeout: 60_000 })
  },
)

test.each(onChat)(
  '$title: an abort during the stream closes the request and throws the reason itself',
  async (real) => {
    const { state, fetch } = openEnded()
    const model = aiSdk(real.model(fetch))
    const aborter = new AbortController()
    const flow = model.stream(requestTo(model, { signal: aborter.signal }))
    await flow.next()
    await flow.next()
    const reason = new Error('enough')
    const next = failureOf(flow.next())
    aborter.abort(reason)
    expect(await next).toBe(reason)
    expect(state.closed).toBe(true)
  },
)

test.each([
  ['openai.responses', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure.chat', 'azure.ai.openai'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.chat', 'x_ai'],
  ['gateway', 'gateway'],
])('%s is %s in telemetry', (provider, expected) => {
  expect(aiSdk(handMade('v4', [], { provider }).model)).toMatchObject({ provider: expected, id: 'm' })
})
