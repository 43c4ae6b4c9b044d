import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  think,
} from '@meanwhile/assemble/testing'
import {
  type AgentOptions,
  agentTool,
  ConfigError,
  createAgent,
  type Message,
  type Middleware,
  ModelError,
  memoryStore,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { coming } from '@meanwhile/core/calls'
import { propertyRuns } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { agentsMd } from './agents-md.ts'
import { memoryBackend } from './memory-backend.ts'
import { maskedData } from './redact/masked-data.ts'
import { MaskedStream } from './redact/masked-stream.ts'
import { Masker } from './redact/masker.ts'
import { addressPatterns, secretPatterns } from './redact/secret-patterns.ts'
import { type RedactOptions, redact } from './redact.ts'
import { retryModel } from './retry-model.ts'
import { summarize } from './summarize.ts'
import { timeout } from './timeout.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
beforeEach(() => exporter.reset())

const KEY = `sk-${'a1B2'.repeat(6)}`
const CARD = '4111 1111 1111 1111'
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEow+/='.repeat(20)}\n-----END RSA PRIVATE KEY-----`

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ key: z.string() }),
  effect: 'read',
  execute: ({ key }) => ({ found: `${key} and ${CARD}` }),
})

async function ran(
  responses: readonly ScriptResponse[],
  options: RedactOptions = {},
  more: Partial<AgentOptions> & { readonly input?: string | readonly Message[] } = {},
) {
  const model = scriptedModel(responses)
  const { input = 'Go', middleware = [], ...rest } = more
  const agent = createAgent({ model, middleware: [...middleware, redact(options)], ...rest })
  const { events, result, error } = await collect(agent.stream(input))
  const deltas = (type: string) =>
    events.flatMap((event) => ('delta' in event && event.type === type ? [event.delta] : []))
  return {
    events,
    result,
    error,
    requests: model.requests,
    deltas: deltas('text-delta'),
    reasoning: deltas('reasoning-delta'),
  }
}

const masker = new Masker(secretPatterns, ({ kind }) => `[${kind}]`)

test.each([
  [`key ${KEY}.`, 'key [api-key].'],
  ['sk-ant-api03-abcdefghijklmnop_qrst', '[api-key]'],
  ['export AWS=AKIAIOSFODNN7EXAMPLE;', 'export AWS=[api-key];'],
  [`ghp_${'a'.repeat(36)} github_pat_${'b'.repeat(22)}`, '[api-key] [api-key]'],
  [`AIza${'x'.repeat(35)}`, '[api-key]'],
  [
    `xoxb-${'1'.repeat(12)} sk_live_${'2'.repeat(24)} glpat-${'3'.repeat(20)} npm_${'4'.repeat(36)}`,
    Array(4).fill('[api-key]').join(' '),
  ],
  ['Authorization: Bearer abcdefghij0123456789==', 'Authorization: Bearer [bearer-token]'],
  [`eyJhbGciOiJI.eyJzdWIiOiIx.${'s'.repeat(20)}`, '[bearer-token]'],
  [`my key:\n${PEM}\nbye`, 'my key:\n[private-key]\nbye'],
  [PEM.replaceAll('\n', '\\n'), '[private-key]'],
  [
    `pay with ${CARD} or 4111-1111-1111-1111, 378282246310005`,
    'pay with [card-number] or [card-number], [card-number]',
  ],
  [
    '4111 1111 1111 1112 is no card, nor is 1234567890123456',
    '4111 1111 1111 1112 is no card, nor is 1234567890123456',
  ],
  [JSON.stringify(`keys:\n${KEY}\t4111 1111 1111 1111`), '"keys:\\n[api-key]\\t[card-number]"'],
  [`?token%3D${KEY}`, '?token%3D[api-key]'],
  ['{"at":1754000000001,"then":1754000000010}', '{"at":1754000000001,"then":1754000000010}'],
  ['a task-list, disk-1, the risk-free sketch sk-8', 'a task-list, disk-1, the risk-free sketch sk-8'],
  ['a bearer of news; version 1.2.3 of 2024-11-21 08:15', 'a bearer of news; version 1.2.3 of 2024-11-21 08:15'],
  [
    '-----BEGIN PUBLIC KEY----- abc -----END PUBLIC KEY-----',
    '-----BEGIN PUBLIC KEY----- abc -----END PUBLIC KEY-----',
  ],
])('a secret, and a text that only looks like one: %s', (text, expected) => {
  expect(masker.mask(text)).toBe(expected)
})

test('each request contains the mask, the history the original (N56)', async () => {
  const history: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: `I have ${KEY}` },
        { type: 'file', mediaType: 'image/png', data: 'AAAA' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Keep' },
        { type: 'text', text: ` ${KEY} safe` },
      ],
      finishReason: 'stop',
    },
    { role: 'user', content: `Look for ${KEY}` },
  ]
  const { requests, result } = await ran(
    [respond(call('look', { key: KEY })), respond(say('Found.'))],
    {},
    { input: history, tools: [look], instructions: `The key is ${KEY}.` },
  )
  expect(requests).toHaveLength(2)
  for (const { instructions, messages } of requests) {
    expect(JSON.stringify({ instructions, messages })).not.toMatch(/a1B2|4111/)
    expect(instructions).toBe('The key is [api-key].')
  }
  expect(requests[1]?.messages.map((message) => JSON.stringify(message.content))).toEqual([
    '[{"type":"text","text":"I have [api-key]"},{"type":"file","mediaType":"image/png","data":"AAAA"}]',
    '[{"type":"text","text":"Keep"},{"type":"text","text":" [api-key] safe"}]',
    '"Look for [api-key]"',
    expect.stringContaining('"input":{"key":"[api-key]"}'),
    '[{"type":"text","text":"{\\"found\\":\\"[api-key] and [card-number]\\"}"}]',
  ])
  expect(result?.messages.slice(0, 3)).toEqual(history)
  expect(result?.messages[4]).toMatchObject({ output: { found: `${KEY} and ${CARD}` } })
  // Messages without secrets are the same objects, so that a request begins with the bytes of the previous one.
  for (const [place, message] of (requests[0]?.messages ?? []).entries())
    expect(requests[1]?.messages[place]).toBe(message)
})

test('with persist the history contains the masks, and so does the checkpoint (N56)', async () => {
  const store = memoryStore()
  const { events, result } = await ran(
    [respond(call('look', { key: KEY })), respond(say(`It is ${KEY}.`))],
    { persist: true },
    { input: `Look for ${KEY}`, tools: [look], checkpoints: store },
  )
  expect(result?.messages).toMatchObject([
    { content: 'Look for [api-key]' },
    { content: [{ input: { key: '[api-key]' } }] },
    {
      content: [{ text: '{"found":"[api-key] and [card-number]"}' }],
      output: { found: '[api-key] and [card-number]' },
    },
    { content: [{ text: 'It is [api-key].' }] },
  ])
  const saved = (await store.load(events[0]?.runId ?? '')) as { readonly messages: readonly Message[] }
  expect(saved.messages).toEqual(result?.messages)
})

test('a side model call contains the mask, and so does the answer of a summary (N56, N29)', async () => {
  const writer = scriptedModel([respond(say(`The user has ${KEY}.`))])
  const history: Message[] = [
    { role: 'user', content: `I have ${KEY}` },
    { role: 'assistant', content: [{ type: 'text', text: 'Fine.' }], finishReason: 'stop' },
    { role: 'user', content: 'And?' },
  ]
  const shortening = summarize({ model: writer, at: { messages: 2 }, keep: { steps: 1, userTokens: 0 } })
  const { requests } = await ran([respond(say('Yes.'))], {}, { input: history, middleware: [shortening] })
  expect(JSON.stringify(writer.requests[0]?.messages)).toContain('I have [api-key]')
  expect(JSON.stringify([writer.requests, requests].map((all) => all.map(({ messages }) => messages)))).not.toContain(
    'a1B2',
  )
  expect(JSON.stringify(requests[0]?.messages)).toContain('The user has [api-key].')
})

test('a secret that is split over deltas is masked in events and message; the rest is streamed on (N57)', async () => {
  const pieces = ['Your key', ' is s', 'k-', KEY.slice(3, 12), KEY.slice(12), ' and', ' that is', ' it']
  const { deltas, result } = await ran([respond(say(pieces.join(''), { deltas: pieces }))])
  // "s" at the end of "is" ends a word; that of "s" may begin a key.
  expect(deltas).toEqual(['Your key', ' is ', '[api-key] and', ' that is', ' it'])
  expect(result?.text).toBe('Your key is [api-key] and that is it')
})

test('reasoning is masked like text, unless its provider has signed it (N57)', async () => {
  const pieces = ['The key ', KEY.slice(0, 9), KEY.slice(9), ' ...']
  const { reasoning, result } = await ran([respond(think(pieces.join(''), { deltas: pieces }), say('Done.'))])
  expect(reasoning.join('')).toBe('The key [api-key] ...')
  expect(result?.message?.content[0]).toMatchObject({ type: 'reasoning', text: 'The key [api-key] ...' })
  const signed: Middleware = {
    name: 'signed',
    async *wrapModel(request, next) {
      const message = yield* next(request)
      const content = message.content.map((part) => ({ ...part, providerMetadata: { anthropic: { signature: 'x' } } }))
      return { ...message, content }
    },
  }
  const model = scriptedModel([respond(think(KEY), say(KEY))])
  const run = await createAgent({ model, middleware: [redact(), signed] }).run('Go')
  expect(run.message?.content).toMatchObject([{ text: KEY }, { text: '[api-key]' }])
})

test('held-back text is released at a call, at the end and at an error, before their events (N57, H3)', async () => {
  const { events } = await ran(
    [respond(say('Key sk-ab', { deltas: 1 }), call('look', { key: 'x' })), respond(say('the s', { deltas: 1 }))],
    {},
    { tools: [look] },
  )
  const told = events.flatMap((event) => {
    if (event.type === 'text-delta') return [event.delta]
    return event.type === 'tool-input-start' || event.type === 'tool-call' || event.type === 'run-end'
      ? [event.type]
      : []
  })
  expect(told).toEqual(['Key ', 'sk-ab', 'tool-input-start', 'tool-call', 'the ', 's', 'run-end'])
  const failed = await ran([respond(say('Key sk-ab', { deltas: 1 }), fail({ message: 'gone' }))])
  expect(failed.deltas).toEqual(['Key ', 'sk-ab'])
  expect(failed.error).toBeInstanceOf(ModelError)
})

test('a text that may be a secret for longer than the window is released, and nothing is lost (N57)', async () => {
  const text = `-----BEGIN PRIVATE KEY-----${'x'.repeat(300)}`
  const pieces = text.match(/.{1,10}/g) ?? []
  const { deltas, result } = await ran([respond(say(text, { deltas: pieces }))], { window: 50 })
  expect(deltas.join('')).toBe(text)
  expect(result?.text).toBe(text)
  expect(deltas.length).toBeGreaterThan(10)
})

const secret = fc.constantFrom(
  KEY,
  CARD,
  '4111111111111111',
  `Bearer ${'t'.repeat(20)}`,
  PEM,
  `ghp_${'Z9'.repeat(18)}`,
  'AKIAIOSFODNN7EXAMPLE',
)
const plain = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('sk-', 's', ' ', 'Bearer ', '-----BEGIN ', 'eyJ', '41', '4111 ', 'npm_', '😀', '\n'),
)

test('the output does not depend on how a text is cut, and no more than the window is held back (N57)', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(plain, secret), { maxLength: 12 }),
      fc.array(fc.nat(400), { maxLength: 30 }),
      fc.constantFrom(4_096, 300),
      (texts, cuts, window) => {
        const text = texts.join('')
        const stream = new MaskedStream(masker, window)
        const places = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b)
        let [from, out] = [0, '']
        for (const place of places) {
          out += stream.push(text.slice(from, place))
          from = place
        }
        const before = out
        out += stream.flush()
        expect(out).toBe(masker.mask(text))
        expect(out.length - before.length).toBeLessThanOrEqual(Math.max(window, 20))
      },
    ),
    propertyRuns({ small: 125, middle: 200, whole: 100_000 }),
  )
})

test('held-back text is the end of the received text, and no longer than the window (N57)', () => {
  // The mask is as long as its secret, so the output is as long as the input.
  const lengths = new Masker(secretPatterns, ({ text }) => 'x'.repeat(text.length))
  fc.assert(
    fc.property(fc.array(fc.oneof(plain, secret), { maxLength: 30 }), fc.constantFrom(30, 100), (texts, window) => {
      const stream = new MaskedStream(lengths, window)
      let [told, came] = [0, 0]
      for (const text of texts) {
        came += text.length
        told += stream.push(text).length
        expect(came - told).toBeLessThanOrEqual(window)
      }
      expect(told + stream.flush().length).toBe(came)
    }),
    propertyRuns({ small: 50, middle: 80, whole: 50_000 }),
  )
})

test('by default a private key of 4,000 characters is masked in any pieces, and one that never ends is released (N57)', async () => {
  const key = PEM.replace('MIIE', 'M'.repeat(3_000))
  const pieces = (text: string) => text.match(/.{1,40}/gs) ?? []
  const masked = await ran([respond(say(key, { deltas: pieces(key) }))])
  expect([masked.deltas, masked.result?.text]).toEqual([['[private-key]'], '[private-key]'])
  const open = `${key.slice(0, -10)}${'M'.repeat(2_000)}`
  const letGo = await ran([respond(say(open, { deltas: pieces(open) }))])
  expect(letGo.deltas.length).toBeGreaterThan(1)
  expect(letGo.deltas.join('')).toBe(open)
})

test('if several secrets begin at one place the longest counts', () => {
  const patterns = [
    { kind: 'short', pattern: /ab/ },
    { kind: 'long', pattern: /abc/ },
    { kind: 'late', pattern: /bcd/ },
  ]
  expect(new Masker(patterns, ({ kind }) => kind).mask('abcd ab')).toBe('longd short')
})

test('thousands of secrets in one delta take no longer than one each', async () => {
  const text = Array(8_000).fill(KEY).join(' ')
  const { deltas, result } = await ran([respond(say(text, { deltas: 1 }))])
  expect(deltas.join('')).toBe(Array(8_000).fill('[api-key]').join(' '))
  expect(result?.text).toBe(deltas.join(''))
})

test('a secret that continues after a piece of reasoning, or in the next part, is one (N56, N57)', async () => {
  const [first, second] = [KEY.slice(0, 12), KEY.slice(12)]
  const { deltas, reasoning, result } = await ran([respond(say(`Key ${first}`), think('Well.'), say(`${second} ok`))])
  expect([deltas.join(''), reasoning.join(''), result?.text]).toEqual(['Key [api-key] ok', 'Well.', 'Key [api-key] ok'])
  const parts = [first, second].map((text) => ({ type: 'text', text }) as const)
  const { requests } = await ran([respond(say('Yes.'))], {}, { input: [{ role: 'user', content: parts }] })
  // No part is left empty.
  expect(requests[0]?.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: '[api-key]' }] }])
})

test('simultaneous attempts have separate texts, and events of a middleware release nothing (N57)', async () => {
  const racing: Middleware = {
    name: 'racing',
    async *wrapModel(request, next) {
      const [one, two] = [{ attempt: 1 }, { attempt: 2 }]
      yield { type: 'text-delta', delta: 'one sk', ...one }
      yield { type: 'text-delta', delta: 'two sk', ...two }
      yield { type: 'custom', name: 'told', data: 1 }
      yield { type: 'text-delta', delta: KEY.slice(2), ...one }
      yield { type: 'tool-input-start', id: 'c', name: 'look', ...two }
      yield { type: 'text-delta', delta: '.', ...one }
      return yield* next(request)
    },
  }
  const model = scriptedModel([respond(say('Done.', { deltas: 1 }))])
  const { events } = await collect(createAgent({ model, middleware: [redact(), racing] }).stream('Go'))
  const told = events.flatMap((event) => (event.type === 'text-delta' ? [`${event.attempt} ${event.delta}`] : []))
  expect(told.slice(0, 4)).toEqual(['1 one ', '2 two ', '2 sk', '1 [api-key].'])
})

test('with persist an error that a tool throws is masked, and keeps its class (N56)', async () => {
  class Refused extends Error {
    override readonly name = 'Refused'
    readonly code = 7
  }
  const thrown: unknown[] = []
  const noting: Middleware = {
    name: 'noting',
    async *wrapToolCall(toolCall, next) {
      try {
        return yield* next(toolCall)
      } catch (error) {
        thrown.push(error)
        throw error
      }
    },
  }
  const failing = tool({ ...look, execute: ({ key }) => Promise.reject(new Refused(`not ${key}`)) })
  const { result } = await ran(
    [respond(call('look', { key: KEY })), respond(say('Oh.'))],
    { persist: true },
    { tools: [failing as Tool], middleware: [noting] },
  )
  expect(thrown).toMatchObject([{ name: 'Refused', code: 7, message: 'not [api-key]' }])
  expect(thrown[0]).toBeInstanceOf(Refused)
  expect(JSON.stringify(result?.messages)).not.toContain('a1B2')
})

test('all results of a tool are masked: cycles, shared values, depth, keys with one mask (N58)', () => {
  const shared = { key: KEY }
  const circle: Record<string, unknown> = { a: shared, b: shared }
  circle.self = circle
  let deep: unknown = KEY
  for (let depth = 0; depth < 3_000; depth++) deep = [deep]
  expect(maskedData(masker, circle)).toEqual({ a: { key: '[api-key]' }, b: { key: '[api-key]' }, self: '[circular]' })
  expect(JSON.stringify(maskedData(masker, deep))).not.toContain('a1B2')
  expect(maskedData(masker, { [KEY]: 1, [`${KEY}x`]: 2 })).toEqual({ '[api-key]': 1, '[api-key] 2': 2 })
  const untouched = [1, { b: null, c: 'sk' }]
  expect(maskedData(masker, untouched)).toBe(untouched)
})

test('text with which no secret can begin is not held back (N57)', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[bcdfhltuvwz .,;!?]{0,60}$/), (text) => {
      expect(new MaskedStream(masker, 4_096).push(text)).toBe(text)
    }),
  )
})

/** The flag `v` is newer than the syntax that we compile to. */
const withSets = (source: string) => new RegExp(source, 'v')

test.each<[RegExp]>([
  [/ab{2,4}c/],
  [/(?:foo|fob)+\d?/],
  [/(?<name>x)y*?z/],
  [/\bcat\b/],
  [/end$/],
  [/a(?=bc)/],
  [/a(?!bc)./],
  [/(?<=p)q{3}/],
  [/(?:a|(?:bc){2})d{0,2}e/i],
  [withSets('[\\p{L}--[a-c]]{2}!')],
])('any part that could become a match of the pattern is held back: %s (N57)', (pattern) => {
  const own = new Masker([{ kind: 'own', pattern }], () => '#')
  const letters = [...new Set('abcdexyzfoonipqt cat12 !.')]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...letters, 'foo', 'fob', 'cat', 'end', 'pqqq', 'bcbc'), { maxLength: 20 }),
      (pieces) => {
        const stream = new MaskedStream(own, 4_096)
        const out = pieces.map((piece) => stream.push(piece)).join('') + stream.flush()
        expect(out).toBe(own.mask(pieces.join('')))
      },
    ),
    propertyRuns({ small: 50, middle: 80, whole: 20_000 }),
  )
})

test('no span contains a secret although content is captured: texts, arguments, results, errors (N58)', async () => {
  const failing = tool({
    name: 'failing',
    description: 'f',
    input: z.object({ of: z.string() }),
    execute: ({ of }) => {
      throw new Error(`no ${of}`)
    },
  })
  const giving = tool({
    name: 'giving',
    description: 'g',
    input: z.object({}),
    execute: () => ({ [KEY]: 4111111111111111, at: { toJSON: () => KEY }, list: [[KEY]] }),
    toContent: () => [{ type: 'text', text: 'ok' }],
  }) as Tool
  const { error } = await ran(
    [
      respond(
        think(KEY),
        say(KEY),
        call('failing', { of: KEY }),
        call('giving'),
        call(KEY, { x: KEY }),
        call('look', { key: KEY }),
      ),
      respond(fail({ message: `refused ${KEY}` })),
    ],
    {},
    {
      input: `Use ${KEY}`,
      instructions: KEY,
      tools: [failing, giving, look as Tool],
      telemetry: { tracerProvider, captureContent: true },
    },
  )
  expect(error).toBeInstanceOf(ModelError)
  const spans = exporter.getFinishedSpans()
  const payload = JSON.stringify(
    spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  )
  expect(payload).not.toMatch(/a1B2|4111[ -]?1111/)
  const attributes = (name: string) => spans.find((span) => span.name === name)?.attributes
  expect(attributes('execute_tool giving')?.['gen_ai.tool.call.result']).toBe(
    '{"[api-key]":"[card-number]","at":"[api-key]","list":[["[api-key]"]]}',
  )
  expect(attributes('execute_tool look')?.['gen_ai.tool.call.arguments']).toBe('{"key":"[api-key]"}')
  expect(spans.find(({ name }) => name === 'execute_tool failing')?.status.message).toBe('no [api-key]')
})

test('where content is not captured it stays so (N58)', async () => {
  await ran([respond(say('Hi.'))], {}, { telemetry: { tracerProvider, captureContent: false } })
  expect(exporter.getFinishedSpans().flatMap(({ attributes }) => Object.keys(attributes))).not.toContain(
    'gen_ai.input.messages',
  )
})

test('a function that drops or changes content is called first, then the result is masked (N58)', async () => {
  const captureContent = (attribute: string, value: unknown) =>
    attribute === 'gen_ai.output.messages' ? undefined : [value, KEY]
  await ran([respond(say('Hi.'))], {}, { telemetry: { tracerProvider, captureContent } })
  const chat = exporter.getFinishedSpans().find(({ name }) => name.startsWith('chat'))
  expect(chat?.attributes).not.toHaveProperty(['gen_ai.output.messages'])
  expect(JSON.parse(String(chat?.attributes['gen_ai.input.messages']))).toEqual([
    [{ role: 'user', parts: [{ type: 'text', content: 'Go' }] }],
    '[api-key]',
  ])
})

test('a tool gets what the model wrote, and so do the events and the message (N59)', async () => {
  const got: unknown[] = []
  const noting = tool({ ...look, execute: ({ key }) => void got.push(key) })
  for (const persist of [false, true]) {
    const { events } = await ran(
      [respond(call('look', { key: KEY })), respond(say('Done.'))],
      { persist },
      { tools: [noting] },
    )
    const calls = events.flatMap((event) => (event.type === 'tool-call' ? [event.call.input] : []))
    expect(calls).toEqual([{ key: KEY }])
  }
  expect(got).toEqual([KEY, KEY])
})

test('with persist the result of an early call of an agent inside is masked in its events, before and after the response counts (N56)', async () => {
  const early: Middleware = {
    name: 'early',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        yield step.value
        if (step.value.type === 'tool-call') await run.callTool(step.value.call)
      }
    },
  }
  const clerk = createAgent({
    name: 'clerk',
    description: 'Looks.',
    model: scriptedModel([respond(call('look', { key: 'x' })), respond(say('Seen.'))]),
    tools: [look as Tool],
    middleware: [early],
  })
  const { events } = await ran(
    [respond(call('clerk', { request: 'Look.' })), respond(say('Done.'))],
    { persist: true },
    { tools: [agentTool(clerk) as Tool] },
  )
  const results = events.flatMap((event) =>
    event.path && (event.type === 'tool-settled' || event.type === 'tool-end')
      ? [[event.type, event.message.output]]
      : [],
  )
  const masked = { found: 'x and [card-number]' }
  expect(results).toEqual([
    ['tool-settled', masked],
    ['tool-end', masked],
  ])
})

test('on selects the places: all others are unchanged (N56, N57)', async () => {
  const script = () => [respond(say(`Yes ${KEY}`))]
  const asked = await ran(script(), { on: ['request'] }, { input: KEY })
  expect([asked.requests[0]?.messages[0]?.content, asked.result?.text]).toEqual(['[api-key]', `Yes ${KEY}`])
  const answered = await ran(script(), { on: ['answer'] }, { input: KEY })
  expect([answered.requests[0]?.messages[0]?.content, answered.result?.text]).toEqual([KEY, 'Yes [api-key]'])
})

test('patterns and masks can be the user’s own', async () => {
  const options: RedactOptions = {
    patterns: [...secretPatterns, { kind: 'customer', pattern: /C-\d{6}/g, isSecret: (text) => text !== 'C-000000' }],
    replace: ({ kind, text }) => `<${kind} ${text.length}>`,
  }
  const { result } = await ran([respond(say('C-123456 and C-000000 with AKIAIOSFODNN7EXAMPLE'))], options)
  expect(result?.text).toBe('<customer 8> and C-000000 with <api-key 20>')
})

test.each<[RedactOptions, RegExp]>([
  [{ patterns: [{ kind: 'all', pattern: /.*/ }] }, /patterns: the pattern of all matches an empty text/],
  [{ patterns: [{ kind: 'twice', pattern: /(a)\1/ }] }, /patterns: .*backreference/],
  [{ patterns: [{ kind: 'behind', pattern: /(?<=\1(a))b/ }] }, /patterns: .*backreference/],
  ...[[/x/], /x/, [{ pattern: /x/ }], [{ kind: 'x', pattern: 'x' }], [undefined]].map(
    (patterns): [RedactOptions, RegExp] => [
      { patterns: patterns as never },
      /^patterns: must be a list of \{ kind, pattern \}: the name for the mask, and a RegExp that finds the secret$/,
    ],
  ),
  [{ window: -1 }, /window/],
  [{ on: ['spans', 'logs' as never] }, /on: may contain request, answer, spans, not logs/],
])('invalid options are refused: %j (A2)', (options, problem) => {
  expect(() => redact(options)).toThrow(problem)
  expect(() => redact(options)).toThrow(ConfigError)
})

test('it must be inside middleware that adds to a request, and outside of a timeout, which would mistake held text for silence (O20)', async () => {
  const model = scriptedModel([respond(say('Yes.'))])
  const shown = agentsMd({ backend: memoryBackend({ 'AGENTS.md': `Use ${KEY}.` }) })
  expect(() => createAgent({ model, middleware: [redact(), shown] })).toThrow(/"agents-md" must be outside "redact"/)
  expect(() => createAgent({ model, middleware: [timeout(), redact()] })).toThrow(/"redact" must be outside "timeout"/)
  await createAgent({ model, middleware: [shown, redact(), timeout()] }).run('Go')
  const texts = model.requests[0]?.messages.map(textOf).join('\n')
  expect(texts).toContain('Use [api-key].')
})

test('a message that has changed since it was sent is searched again (N56)', async () => {
  const message = { role: 'user' as const, content: '' }
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      for (const content of ['Nothing yet.', `My key: ${KEY}`]) {
        message.content = content
        await run.callModel({ messages: [message] })
      }
    },
  }
  const responses = [respond(say('1')), respond(say('2')), respond(say('3'))]
  const { requests } = await ran(responses, {}, { middleware: [asking] })
  expect(requests[1]?.messages.map(({ content }) => content)).toEqual(['My key: [api-key]'])
})

test('mail and IP addresses are masked in any pieces, and what only looks like one is not (N56, N57)', () => {
  const masker = new Masker(addressPatterns, ({ kind }) => `[${kind}]`)
  const said: Readonly<Record<string, string>> = {
    'Write to ada.lovelace+x@mail.example.co.uk, please.': 'Write to [mail-address], please.',
    'At 192.168.0.1. Or 2001:db8::ff00:42:8329!': 'At [ip-address]. Or [ip-address]!',
    '::1 and ::ffff:10.0.0.1 and fe80::1': '[ip-address] and [ip-address] and [ip-address]',
    'At 12:30:45, version 1.2.300.4 of std::vector, a :: b, @ada and 1.2.3.4.5': '',
  }
  for (const [text, expected] of Object.entries(said)) {
    expect(masker.mask(text)).toBe(expected || text)
    const stream = new MaskedStream(masker, 100)
    expect(Array.from(text, (piece) => stream.push(piece)).join('') + stream.flush()).toBe(expected || text)
  }
})

test('with persist the events of background work, progress, warnings, rejections and agents inside contain the masks (N56)', async () => {
  const job = tool({
    name: 'job',
    description: 'Works.',
    input: z.object({}),
    background: true,
    execute: async function* () {
      yield { message: `with ${KEY}`, metadata: { key: KEY } }
      return { key: KEY }
    },
  })
  const quiet = tool({ name: 'quiet', description: 'q', input: z.object({}), execute: () => KEY })
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(call('quiet')), respond(say(`It is ${KEY}.`, { deltas: 1 }))]),
    tools: [quiet],
  })
  const warning: Middleware = {
    name: 'warning',
    beforeFinalAnswer(_, run) {
      run.warn({ code: 'w', message: KEY })
      return run.step === 2 ? { accept: false, feedback: `not ${KEY}` } : undefined
    },
  }
  const { events } = await collect(
    createAgent({
      model: scriptedModel([
        respond(call('job'), call('inner', { request: 'x' })),
        respond(say('a')),
        respond(say('b')),
        respond(say('c')),
      ]),
      tools: [job as Tool, agentTool(inner) as Tool],
      middleware: [redact({ persist: true }), warning],
    }).stream('Hi'),
  )
  const told = new Set(events.map(({ type }) => type))
  for (const type of ['tool-progress', 'background-end', 'warning', 'answer-rejected'] as const)
    expect(told.has(type)).toBe(true)
  expect(events.filter((event) => JSON.stringify(event).includes(KEY))).toEqual([])
})

test('the input that is the answer is masked in any pieces, as a text that is the answer would be; inputs of other calls are not (N57)', async () => {
  const answer = { key: KEY, list: [CARD, 'plain'] }
  const output = z.object({ key: z.string(), list: z.array(z.string()) })
  for (const persist of [false, true]) {
    const { events, result } = await ran(
      [
        respond(call('look', { key: KEY })),
        respond(call('final_answer', answer, { deltas: Array.from(JSON.stringify(answer)) })),
      ],
      { persist },
      { output, tools: [look] },
    )
    const masked = { key: '[api-key]', list: ['[card-number]', 'plain'] }
    expect(result?.output).toEqual(masked)
    const told = events.flatMap((event) => (event.type === 'tool-input-delta' && event.step === 2 ? [event.delta] : []))
    expect(JSON.parse(told.join(''))).toEqual(masked)
    expect(told.length).toBeGreaterThan(10)
    const inputs = events.flatMap((event) => (event.type === 'tool-call' ? [event.call.input] : []))
    expect(inputs).toEqual([{ key: KEY }, masked])
  }
})

test('with persist the text of an agent inside is masked in any pieces, and released at a failure and at its end (N57)', async () => {
  const pieces = ['Key s', KEY.slice(1, 9), KEY.slice(9), ' and s']
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([
      respond(say('Half a sk-ab', { deltas: 1 }), fail({ message: 'gone', status: 503 })),
      respond(think(pieces.join(''), { deltas: pieces }), say(pieces.join(''), { deltas: pieces })),
    ]),
    middleware: [retryModel({ maxRetries: 1, baseDelay: 0 })],
  })
  const { events } = await ran(
    [respond(call('inner', { request: 'x' })), respond(say('Done.'))],
    { persist: true },
    { tools: [agentTool(inner) as Tool] },
  )
  const told = events.flatMap((event) => {
    if (!event.path) return []
    return 'delta' in event ? [`${event.type} ${event.delta}`] : event.type === 'attempt-failed' ? [event.type] : []
  })
  expect(told.join('|')).toBe(
    [
      'text-delta Half a |text-delta sk-ab|attempt-failed',
      'reasoning-delta Key |reasoning-delta [api-key] and |text-delta Key |text-delta [api-key] and ',
      'reasoning-delta s|text-delta s',
    ].join('|'),
  )
})

/** Background work whose result has a secret once it is `ended`, and a middleware outside of redact whose warning has one and bypasses the events of the steps. */
function telling() {
  const ended = coming<void>()
  const job = tool({
    name: 'job',
    description: 'Works.',
    input: z.object({}),
    background: { atEnd: 'detach' },
    execute: async () => {
      await ended.promise
      return { key: KEY }
    },
  })
  const warning: Middleware = {
    name: 'warning',
    async *wrapAgent(setup, next, run) {
      run.warn({ code: 'w', message: KEY })
      return yield* next(setup)
    },
  }
  return { job, warning, ended }
}

test('with persist a warning, and the result of work that ends after the run, have the masks everywhere (N56)', async () => {
  const { job, warning, ended } = telling()
  const store = memoryStore()
  const { events, result } = await ran(
    [respond(call('job')), respond(say('Done.'))],
    { persist: true },
    { tools: [job as Tool], middleware: [warning], checkpoints: store },
  )
  ended.resolve()
  expect(await result?.background?.[0]?.result).toMatchObject({ output: { key: '[api-key]' } })
  expect(result?.warnings).toEqual([{ code: 'w', message: '[api-key]', source: 'warning' }])
  expect(JSON.stringify([events, result, await store.load(events[0]?.runId ?? '')])).not.toContain('a1B2')
})

test('with persist and a `replace` that throws, a warning and the result of background work are left out, and the run goes on (N56)', async () => {
  const { job, warning, ended } = telling()
  const replace = () => {
    throw new Error('no mask')
  }
  const { result } = await ran(
    [respond(call('job')), respond(say('Done.'))],
    { persist: true, replace },
    { tools: [job as Tool], middleware: [warning] },
  )
  ended.resolve()
  const message = 'redact: the text is left out, because `replace` has thrown'
  expect(result?.warnings).toEqual([{ code: 'w', message, source: 'warning' }])
  const kept = await result?.background?.[0]?.result
  expect(kept).toMatchObject({ isError: true, content: [{ type: 'text', text: message }] })
  expect(kept).not.toHaveProperty('output')
})
