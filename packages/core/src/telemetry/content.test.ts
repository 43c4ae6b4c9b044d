import { call, collect, end, fail, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  agentTool,
  type CaptureContent,
  ConfigError,
  createAgent,
  type Message,
  type Middleware,
  ModelError,
  map,
  runTool,
  ToolBusyError,
  type ToolCall,
  ToolTimeoutError,
  tool,
} from '../index.ts'

// The message content on spans: none, unless it is switched on.

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'
const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

beforeEach(() => exporter.reset())
afterEach(() => {
  vi.unstubAllEnvs()
  diag.disable()
})

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ sky: `sunny in ${city}` }),
})

const asking = (capture: CaptureContent | undefined, more: Partial<AgentOptions> = {}) =>
  createAgent({
    model: scriptedModel([
      respond(think('A city.'), say('Let me see.'), call('weather', { city: 'Rome' })),
      respond(say('Sunny.')),
    ]),
    name: 'trip_planner',
    instructions: 'Be brief.',
    tools: [weather],
    telemetry: { tracerProvider, ...(capture !== undefined && { captureContent: capture }) },
    ...more,
  })

const spans = () => exporter.getFinishedSpans()
const named = (name: string): ReadableSpan[] => spans().filter((span) => span.name === name)

/** The content on a span, parsed. */
function contentOf(span: ReadableSpan | undefined): Record<string, unknown> {
  const found = Object.entries(span?.attributes ?? {}).filter(([name]) => CONTENT.test(name))
  return Object.fromEntries(found.map(([name, json]) => [name.replace('gen_ai.', ''), JSON.parse(String(json))]))
}
const CONTENT = /instructions|messages|definitions|arguments|result/

/** Everything on the spans, as one text. */
const payload = () =>
  JSON.stringify(
    spans().map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
  )

test('by default no span contains messages, error texts, or names that a model made up', async () => {
  const canary = 'canary-7f3a'
  const failing = tool({
    name: 'failing',
    description: canary,
    input: z.object({ of: z.string() }),
    execute: ({ of }) => {
      throw new TypeError(`${of}\n    at ${canary} (file.ts:1:1)`)
    },
  })
  const model = scriptedModel([
    respond(
      think(canary),
      say(canary),
      call('failing', { of: canary }),
      call(canary, { x: canary }),
      call('failing', canary),
    ),
    respond(fail({ status: 503, code: 'overloaded', message: `${canary} is busy` })),
  ])
  const throwing: Middleware = {
    name: 'throwing',
    async *wrapToolCall(toolCall, next) {
      if (toolCall.name === canary) throw new Error(canary)
      return yield* next(toolCall)
    },
  }
  const agent = asking(undefined, { model, tools: [failing], instructions: canary, middleware: [throwing] })
  await expect(agent.run(canary)).rejects.toThrow(canary)
  await expect(runTool(failing, { of: canary }, { telemetry: { tracerProvider } }).result).rejects.toThrow(canary)
  expect(spans().length).toBeGreaterThan(8)
  expect(spans().flatMap(({ events }) => events).length).toBeGreaterThan(2)
  expect(payload()).not.toContain(canary)
})

test('by default no status names a tool that a model made up, not even for a time limit or a concurrency limit', async () => {
  const made = 'canary_tool'
  for (const error of [
    new ToolTimeoutError(made, 20),
    new ToolTimeoutError(made, 20, false),
    new ToolBusyError(made, 1),
  ]) {
    const limiting: Middleware = {
      name: 'limiting',
      async *wrapToolCall() {
        throw error
      },
    }
    const model = scriptedModel([respond(call(made)), respond(say('Oh.'))])
    await asking(undefined, { model, middleware: [limiting] }).run('Go')
  }
  expect(named('middleware limiting wrapToolCall').map(({ status }) => status.message)).toEqual([
    'the tool took longer than 20 ms',
    'the tool took longer than 20 ms',
    'the tool is already running 1 call, its maximum',
  ])
  expect(payload()).not.toContain(made)
})

test('switched on, each span contains the messages that it processed, in the form of the conventions', async () => {
  await asking(true).run('How is Rome?')
  const user = { role: 'user', parts: [{ type: 'text', content: 'How is Rome?' }] }
  const calling = [
    { type: 'reasoning', content: 'A city.' },
    { type: 'text', content: 'Let me see.' },
    { type: 'tool_call', id: 'call_1_1', name: 'weather', arguments: { city: 'Rome' } },
  ]
  const response = { type: 'tool_call_response', id: 'call_1_1', response: '{"sky":"sunny in Rome"}' }
  const instructions = [{ type: 'text', content: 'Be brief.' }]
  const parameters = expect.objectContaining({ type: 'object', properties: { city: { type: 'string' } } })
  const definitions = [{ type: 'function', name: 'weather', description: 'The weather in a city.', parameters }]
  const answer = { role: 'assistant', parts: [{ type: 'text', content: 'Sunny.' }], finish_reason: 'stop' }
  expect(named('chat scripted-1').map(contentOf)).toEqual([
    {
      system_instructions: instructions,
      'input.messages': [user],
      'output.messages': [{ role: 'assistant', parts: calling, finish_reason: 'tool_call' }],
      'tool.definitions': definitions,
    },
    {
      system_instructions: instructions,
      'input.messages': [user, { role: 'assistant', parts: calling }, { role: 'tool', parts: [response] }],
      'output.messages': [answer],
      'tool.definitions': definitions,
    },
  ])
  expect(named('execute_tool weather').map(contentOf)).toEqual([
    { 'tool.call.arguments': { city: 'Rome' }, 'tool.call.result': { sky: 'sunny in Rome' } },
  ])
  expect(named('invoke_agent trip_planner').map(contentOf)).toEqual([
    { system_instructions: instructions, 'input.messages': [user], 'output.messages': [answer] },
  ])
})

test('files are recorded without their bytes, and what a provider ran itself as its own', async () => {
  const messages: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See.' },
        { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
        { type: 'file', mediaType: 'application/pdf', data: { url: 'https://example.com/a.pdf' } },
        { type: 'file', mediaType: 'audio/wav', data: { url: 'data:audio/wav;base64,UklGRg==' } },
      ],
    },
    {
      role: 'assistant',
      finishReason: 'stop',
      content: [{ type: 'tool-call', id: 's1', name: 'web_search', input: { q: 'x' }, providerResult: ['found'] }],
    },
    { role: 'user', content: 'And?' },
  ]
  await asking(true, { model: scriptedModel([respond(say('A picture.'))]), instructions: '', tools: [] }).run(messages)
  expect(contentOf(named('chat scripted-1')[0])).toMatchObject({
    'input.messages': [
      {
        parts: [
          { type: 'text', content: 'See.' },
          { type: 'blob', mime_type: 'image/png', modality: 'image', content: '' },
          { type: 'uri', mime_type: 'application/pdf', modality: 'document', uri: 'https://example.com/a.pdf' },
          { type: 'blob', mime_type: 'audio/wav', modality: 'audio', content: '' },
        ],
      },
      {
        parts: [
          {
            type: 'server_tool_call',
            id: 's1',
            name: 'web_search',
            server_tool_call: { type: 'web_search', arguments: { q: 'x' } },
          },
          {
            type: 'server_tool_call_response',
            id: 's1',
            server_tool_call_response: { type: 'web_search', result: ['found'] },
          },
        ],
      },
      { role: 'user' },
    ],
  })
  // Neither instructions nor tools: no empty attributes.
  expect(Object.keys(contentOf(named('chat scripted-1')[0]))).toEqual(['input.messages', 'output.messages'])
})

test('the partial response of a failed attempt is recorded, and an attempt without output has none', async () => {
  const partial = { role: 'assistant', content: [{ type: 'text', text: 'Half' }], finishReason: 'error' } as const
  const models = [
    new ModelError('cut', { code: 'stream_truncated', retryable: true, partial }),
    new ModelError('refused', { code: 'overloaded', retryable: true }),
  ].map((error) => ({ ...scriptedModel([]), provider: 'own', id: 'own', stream: () => throwing(error) }))
  for (const model of models)
    await asking(true, { model })
      .run('Go')
      .catch(() => undefined)
  const outputs = named('chat own').map((span) => contentOf(span)['output.messages'])
  expect(outputs).toEqual([
    [{ role: 'assistant', parts: [{ type: 'text', content: 'Half' }], finish_reason: 'error' }],
    undefined,
  ])
})

async function* throwing(error: unknown): AsyncGenerator<never, never, undefined> {
  throw error
}

test('error texts are recorded with the content: on the exception and as the status', async () => {
  const failing = tool({
    name: 'failing',
    description: 'f',
    input: z.object({}),
    execute: () => {
      throw new RangeError('the sky fell')
    },
  })
  const model = scriptedModel([respond(call('failing')), respond(say('Oh.'))])
  await asking(true, { model, tools: [failing] }).run('Go')
  const [span] = named('execute_tool failing')
  expect(span?.status).toEqual({ code: 2, message: 'the sky fell' })
  expect(span?.events.map(({ attributes }) => attributes)).toEqual([
    {
      'exception.type': 'RangeError',
      'exception.message': 'the sky fell',
      'exception.stacktrace': expect.stringMatching(/^RangeError: the sky fell\n +at /),
    },
  ])
  expect(contentOf(span)).toEqual({ 'tool.call.arguments': {} })
})

test('a function decides what is recorded; if it throws, nothing is, and the run is not affected', async () => {
  const told: string[] = []
  diag.setLogger({ ...SILENT, error: (...words) => void told.push(words.join(' ')) }, DiagLogLevel.ALL)
  const asked: string[] = []
  const capture = (attribute: string, value: unknown) => {
    asked.push(attribute)
    if (attribute === 'gen_ai.input.messages') return undefined
    if (attribute === 'gen_ai.tool.definitions') throw new Error('no')
    return attribute === 'gen_ai.tool.call.result' ? 'masked' : value
  }
  const { text } = await asking(capture).run('How is Rome?')
  expect(text).toBe('Sunny.')
  expect(named('chat scripted-1').map((span) => Object.keys(contentOf(span)))).toEqual(
    Array(2).fill(['system_instructions', 'output.messages']),
  )
  expect(contentOf(named('execute_tool weather')[0])).toEqual({
    'tool.call.arguments': { city: 'Rome' },
    'tool.call.result': 'masked',
  })
  expect(told).toEqual(Array(2).fill('meanwhile: gen_ai.tool.definitions could not be captured no'))
  expect(asked.slice(0, 5)).toEqual([
    'gen_ai.system_instructions',
    'gen_ai.input.messages',
    'gen_ai.system_instructions',
    'gen_ai.input.messages',
    'gen_ai.tool.definitions',
  ])
})

test('a function that returns a promise records nothing, and its rejection is handled', async () => {
  const told: string[] = []
  diag.setLogger({ ...SILENT, error: (...words) => void told.push(words.join(' ')) }, DiagLogLevel.ALL)
  await asking(() => Promise.reject(new Error('late'))).run('How is Rome?')
  expect(spans().map(contentOf)).toEqual(spans().map(() => ({})))
  expect(new Set(told.map((text) => text.replace(/gen_ai[.\w]+/, '')))).toEqual(
    new Set(['meanwhile:  could not be captured captureContent must give what to record at once, not a promise']),
  )
})

test('nothing is built that would not be recorded', async () => {
  let asked = 0
  const capture = (_: string, value: unknown) => {
    asked++
    return value
  }
  await asking(capture, { telemetry: { captureContent: capture } }).run('How is Rome?')
  expect(asked).toBe(0)
})

test.each<[string | undefined, boolean | undefined, boolean]>([
  [undefined, undefined, false],
  ['true', undefined, true],
  ['SPAN_ONLY', undefined, true],
  ['span_and_event', undefined, true],
  ['false', undefined, false],
  ['NO_CONTENT', undefined, false],
  ['EVENT_ONLY', undefined, false],
  ['', undefined, false],
  ['true', false, false],
  ['NO_CONTENT', true, true],
])('with %s in the environment and %s in code, content is recorded: %s', async (word, option, expected) => {
  vi.stubEnv(VARIABLE, word)
  await asking(option).run('How is Rome?')
  expect(Object.keys(contentOf(named('chat scripted-1')[0])).length > 0).toBe(expected)
})

test('an unknown value in the environment means off, and is reported once', async () => {
  const told: string[] = []
  diag.setLogger({ ...SILENT, warn: (...words) => void told.push(words.join(' ')) }, DiagLogLevel.ALL)
  vi.stubEnv(VARIABLE, 'yes please')
  await asking(undefined).run('How is Rome?')
  await asking(undefined).run('How is Rome?')
  expect(contentOf(named('chat scripted-1')[0])).toEqual({})
  expect(told).toEqual([`meanwhile: ${VARIABLE} is yes please, which is not a valid value; no content is captured`])
})

test('anything but a boolean or a function is refused (A2)', async () => {
  expect(() => asking('yes' as never)).toThrow(ConfigError)
  const bringing: Middleware = { name: 'bringing', beforeAgent: (setup) => ({ ...setup, captureContent: 1 as never }) }
  await expect(asking(true, { middleware: [bringing] }).run('Go')).rejects.toThrow(/captureContent/)
})

test('a beforeAgent changes it for its run, and nothing is recorded before all have returned', async () => {
  const masking: Middleware = {
    name: 'masking',
    beforeAgent: (setup) => ({ ...setup, captureContent: () => 'masked' }),
  }
  await asking(true, { middleware: [masking] }).run('How is Rome?')
  expect(named('chat scripted-1').map(contentOf)[0]).toEqual({
    system_instructions: 'masked',
    'input.messages': 'masked',
    'output.messages': 'masked',
    'tool.definitions': 'masked',
  })
  exporter.reset()
  const failing: Middleware = {
    name: 'failing',
    beforeAgent: () => {
      throw new Error('the secret')
    },
  }
  await expect(asking(true, { middleware: [failing, masking] }).run('The secret')).rejects.toThrow('the secret')
  expect(spans()).toHaveLength(2)
  expect(payload()).not.toContain('secret')
})

test('what a run masks is masked in its inner runs', async () => {
  const inner = createAgent({
    model: scriptedModel([respond(say('the secret'))]),
    name: 'expert',
    telemetry: { tracerProvider, captureContent: true },
  })
  const masking: Middleware = {
    name: 'masking',
    beforeAgent: (setup) => ({
      ...setup,
      captureContent: (_, value) => JSON.parse(JSON.stringify(value).replaceAll('secret', '***')),
    }),
  }
  const model = scriptedModel([respond(call('expert', { request: 'a secret' })), respond(say('No secret.'))])
  await asking(true, { model, tools: [agentTool(inner, { description: 'Knows.' })], middleware: [masking] }).run('Go')
  expect(named('invoke_agent expert').map(contentOf)[0]).toMatchObject({
    'input.messages': [{ parts: [{ content: 'a ***' }] }],
    'output.messages': [{ parts: [{ content: 'the ***' }] }],
  })
  expect(payload()).not.toContain('secret')
})

test('an attribute is bounded: long texts are cut, excess items are left out, and it stays JSON', async () => {
  const circle: { self?: unknown; list: number[] } = { list: Array(100_000).fill(1) }
  circle.self = circle
  const giving = tool({
    name: 'giving',
    description: 'g',
    input: z.object({}),
    execute: () => ({
      long: 'x'.repeat(100_000),
      half: `${'y'.repeat(8_191)}😀`,
      bytes: new Uint8Array(1_000_000),
      when: new Date(0),
      big: 10n,
      circle,
    }),
    toContent: () => [{ type: 'text', text: 'ok' }],
  })
  await runTool(giving, {}, { telemetry: { tracerProvider, captureContent: true } })
  const json = String(named('execute_tool giving')[0]?.attributes['gen_ai.tool.call.result'])
  expect(json.length).toBeLessThan(80_000)
  expect(JSON.parse(json)).toMatchObject({
    long: `${'x'.repeat(8_192)}…`,
    half: `${'y'.repeat(8_191)}…`,
    bytes: '1000000 bytes',
    when: '1970-01-01T00:00:00.000Z',
    big: '10',
    circle: { list: expect.arrayContaining([1, '…']) },
  })
})

test.each<[string, unknown]>([
  ['empty texts', Array(100_000).fill('')],
  ['escapes', Array(1_000).fill('\u0001'.repeat(50))],
  ['numbers', Array(100_000).fill(1e200)],
  ['half surrogate pairs', Array(1_000).fill('\uD800'.repeat(50))],
  ['keys', Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key ${i}`, null]))],
  ['lists', Array(100_000).fill([])],
  ['holes', Array(100_000).fill(undefined)],
  ['values that are too deep', deep(Array(100_000).fill({}))],
  ['bytes', Array(100_000).fill(new Uint8Array(1))],
])('the bound holds for %s', async (_, output) => {
  const giving = tool({
    name: 'giving',
    description: 'g',
    input: z.object({}),
    execute: () => output,
    toContent: () => [{ type: 'text', text: 'ok' }],
  })
  await runTool(giving, {}, { telemetry: { tracerProvider, captureContent: true } })
  const json = String(named('execute_tool giving')[0]?.attributes['gen_ai.tool.call.result'])
  expect(json.length).toBeLessThan(66_000)
  expect(json.length).toBeGreaterThan(50_000)
  expect(() => JSON.parse(json)).not.toThrow()
})

function deep(value: unknown, levels = 32): unknown {
  return levels === 0 ? value : [deep(value, levels - 1)]
}

test('a message that is too long keeps the form of the conventions: whole parts, its finish reason, and a part that reports the cut', async () => {
  const write = tool({
    name: 'write',
    description: 'w',
    input: z.object({ text: z.string() }),
    execute: () => 'written',
  })
  const texts = Array.from({ length: 20 }, (_, i) => `${i} ${'z'.repeat(8_000)}`)
  const model = scriptedModel([
    respond(...texts.map((text) => call('write', { text }, { deltas: 1 }))),
    respond(say('Done.')),
  ])
  const user: Message = { role: 'user', content: texts.map((text) => ({ type: 'text', text })) }
  await asking(true, { model, tools: [write] }).run([user])

  const [first, second] = named('chat scripted-1').map(contentOf)
  const asked = { type: 'text', content: expect.stringMatching(/^\d+ z+…?$/) }
  const more = { type: 'text', content: '11 further parts left out' }
  expect(first?.['input.messages']).toEqual([{ role: 'user', parts: [...Array(9).fill(asked), more] }])
  const called = { type: 'tool_call', id: expect.any(String), name: 'write', arguments: { text: asked.content } }
  expect(first?.['output.messages']).toEqual([
    { role: 'assistant', finish_reason: 'tool_call', parts: [...Array(9).fill(called), more] },
  ])
  // That answer is the earliest message of the second request that fits, in part.
  const messages = second?.['input.messages'] as readonly { readonly parts: readonly { readonly type: string }[] }[]
  expect(messages.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
    ['text'],
    [...Array(8).fill('tool_call'), 'text'],
    ...Array(20).fill(['tool_call_response']),
  ])
})

test('definitions of tools that do not fit have only their names, because half a schema is not a schema', async () => {
  const members = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`m${i}`, z.string().describe('d'.repeat(100))]),
  )
  const tools = Array.from({ length: 20 }, (_, i) =>
    tool({ name: `tool_${i}`, description: 'One of many.', input: z.object(members), execute: () => i }),
  )
  await asking(true, { model: scriptedModel([respond(say('Yes.'))]), tools }).run('Go')
  const definitions = contentOf(named('chat scripted-1')[0])['tool.definitions']
  const properties = Object.fromEntries(
    Object.keys(members).map((name) => [name, { type: 'string', description: 'd'.repeat(100) }]),
  )
  const parameters = expect.objectContaining({ type: 'object', properties, required: Object.keys(members) })
  expect(definitions).toEqual(
    tools.map(({ name, description }, i) => ({
      type: 'function',
      name,
      ...(i < 8 && { description, parameters }),
    })),
  )
})

test('the newest messages of a history that is too long are recorded', async () => {
  const history: Message[] = Array.from({ length: 40 }, (_, i) => ({
    role: 'user',
    content: `${i} ${'z'.repeat(4_000)}`,
  }))
  await asking(true, { model: scriptedModel([respond(say('Yes.'))]) }).run(history)
  const json = String(named('chat scripted-1')[0]?.attributes['gen_ai.input.messages'])
  expect(json.length).toBeLessThan(80_000)
  const messages: { role: string; parts: { content: string }[] }[] = JSON.parse(json)
  const texts = messages.map(({ parts }) => parts[0]?.content.slice(0, 8))
  expect(texts.at(-1)).toBe('39 zzzzz')
  expect(messages[0]).toEqual({
    role: 'system',
    parts: [{ type: 'text', content: `${41 - messages.length} earlier messages left out` }],
  })
})

test('a call that starts with the members it needs has its complete input in the end (H31)', async () => {
  const reading = tool({
    name: 'reading',
    description: 'r',
    input: z.object({ path: z.string(), limit: z.number() }),
    effect: 'read',
    needs: ['path'],
    execute: async (_, { rest }) => String(Object.keys(await rest).length),
  })
  const early: Middleware = {
    name: 'early',
    async *wrapModel(request, next, run) {
      let whole: (call: ToolCall) => void = () => undefined
      const rest = new Promise<ToolCall>((resolve) => {
        whole = resolve
      })
      return yield* map(next(request), (event) => {
        if (event.type === 'tool-input-ready')
          run.callTool({ ...event, type: 'tool-call' }, { rest }).catch(() => undefined)
        if (event.type === 'tool-call') whole(event.call)
        return event
      })
    },
  }
  const deltas = ['{"path":"a",', '"limit":2}']
  const model = scriptedModel([respond(call('reading', { path: 'a', limit: 2 }, { deltas })), respond(say('Read.'))])
  await asking(true, { model, tools: [reading], middleware: [early] }).run('Go')
  const [span] = named('execute_tool reading')
  expect(span?.attributes['meanwhile.dispatch.mode']).toBe('early')
  expect(contentOf(span)['tool.call.arguments']).toEqual({ path: 'a', limit: 2 })
})

test('the answer of a run is the accepted one, and a tool result that ended it is recorded as such', async () => {
  const direct = tool({ ...weather, returnDirect: true })
  const model = scriptedModel([respond(call('weather', { city: 'Oslo' }), end({ finishReason: 'tool-calls' }))])
  await collect(asking(true, { model, tools: [direct] }).stream('Go'))
  expect(contentOf(named('invoke_agent trip_planner')[0])['output.messages']).toEqual([
    {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: expect.any(String), response: '{"sky":"sunny in Oslo"}' }],
      finish_reason: 'tool_call',
    },
  ])
})

const SILENT = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  verbose: () => undefined,
}
