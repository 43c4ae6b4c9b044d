import { call, end, respond, say } from '@meanwhile/assemble/testing'
import {
  createAgent,
  type JsonSchema,
  type ModelEvent,
  type ModelRequest,
  type Tool,
  type ToolDefinition,
  tool,
} from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { handMade } from '../test/ai-sdk.ts'
import { ask, bodyOf, bodyThrough, failureOf, requestTo } from '../test/ask.ts'
import { chatHost, gemini, kimi } from '../test/hosts.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, type TestWire, wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'
import { targetOf } from './families.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { inputSchema as schemaFor } from './tool-schema.ts'

const stop = [{ type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }] as const

const defined = (inputSchema: object): ToolDefinition => ({
  name: 'f',
  description: 'd',
  inputSchema: inputSchema as JsonSchema,
})
const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' })

function schemaIn(body: unknown): Record<string, unknown> {
  const [sent] = (body as { tools: readonly object[] }).tools
  if (!sent) throw new Error('no tools')
  const { parameters, input_schema } = ('function' in sent ? sent.function : sent) as Record<string, object>
  return { ...(parameters ?? input_schema) }
}

/** The schema that a wire gets for this one. */
async function sent(wire: TestWire, schema: object, model?: TestWire['model']) {
  return schemaIn(await bodyOf(wire, { tools: [defined(schema)] }, model))
}

test.each(wires)('$name: a tool without parameters has `properties` (W17)', async (wire) => {
  expect(await sent(wire, { type: 'object' })).toEqual({ type: 'object', properties: {} })
  expect(await sent(wire, {})).toEqual({ type: 'object', properties: {} })
  expect(await sent(wire, jsonSchema(z.record(z.string(), z.number())))).toMatchObject({
    properties: {},
    additionalProperties: { type: 'number' },
  })
})

test.each(realModels)('$title: through the AI SDK, too (W17)', async (real) => {
  const tools = [defined({ type: 'object' })]
  expect(schemaIn(await bodyThrough(real, { tools }))).toMatchObject({ type: 'object', properties: {} })
})

test.each(wires)('$name: a schema that is sound is sent unchanged (W17)', async (wire) => {
  const schema = jsonSchema(z.object({ a: z.string().optional(), b: z.union([z.string(), z.number()]) }))
  expect(await sent(wire, schema)).toEqual(schema)
})

test.each(wires)('$name: alternatives at the root become one object with all members (W17)', async (wire) => {
  const one = z.object({ kind: z.literal('one'), a: z.string(), c: z.string() })
  const two = z.object({ kind: z.literal('two'), b: z.number().optional(), c: z.string() })
  for (const schema of [z.union([one, two]), z.discriminatedUnion('kind', [one, two])]) {
    const flat = await sent(wire, jsonSchema(schema))
    expect(flat).toMatchObject({
      type: 'object',
      properties: {
        kind: { anyOf: [{ const: 'one' }, { const: 'two' }] },
        a: { type: 'string' },
        b: { type: 'number' },
        c: { type: 'string' },
      },
      required: ['kind', 'c'],
      description: expect.stringContaining('"const":"two"') as string,
    })
    for (const key of ['anyOf', 'oneOf', 'allOf']) expect(flat).not.toHaveProperty(key)
  }
  const both = await sent(wire, jsonSchema(z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() }))))
  expect(both).toMatchObject({ properties: { a: {}, b: {} }, required: ['a', 'b'] })
  const node = z.object({
    name: z.string(),
    get next() {
      return node.optional()
    },
  })
  const wrapped = { $ref: '#/$defs/n', $defs: { n: jsonSchema(node) } }
  expect(await sent(wire, wrapped)).toMatchObject({ type: 'object', properties: { name: {} }, required: ['name'] })
  const ruled = { type: 'object', properties: { a: {} }, not: { required: ['a'] }, if: {}, then: {}, enum: [{}] }
  expect(Object.keys(await sent(wire, ruled))).toEqual(['type', 'properties', 'description'])
})

test('a root that many alternatives refer to is read once (W17)', async () => {
  const anyOf = Array.from({ length: 10 }, () => ({ $ref: '#' }))
  const schema = { type: 'object', properties: { a: {} }, anyOf: [...anyOf, { $ref: '#/$defs/b' }] }
  const $defs = { b: { anyOf: Array.from({ length: 10 }, () => ({ $ref: '#/$defs/c' })) }, c: { anyOf } }
  expect(await sent(chat, { ...schema, $defs })).toMatchObject({ type: 'object', properties: { a: {} } })
})

test('four times as many alternatives at the root take about four times as long (W17)', async () => {
  const target = targetOf('openai-chat', { provider: 'openai', id: 'm' })
  await expectLinear(500, (count) => {
    const anyOf = Array.from({ length: count }, (_, n) => ({
      type: 'object',
      properties: { kind: { const: `kind ${n}` }, [`m${n}`]: {} },
      required: ['kind', `m${n}`],
    }))
    const { properties } = schemaFor(defined({ anyOf }), target)
    expect(Object.keys(Object(properties))).toHaveLength(count + 1)
  })
})

test.each(wires)('$name: an agent with such a tool gets its input, checked by its own schema (W17)', async (wire) => {
  const input = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('one'), a: z.string() }),
    z.object({ kind: z.literal('two'), b: z.number() }),
  ])
  const got: unknown[] = []
  const execute = (given: unknown) => void got.push(given)
  const usage = end({ usage: { inputTokens: 1, outputTokens: 1 } })
  const { fetch } = mockModels({
    script: [
      respond(call('f', { kind: 'one' }), call('f', { kind: 'two', b: 2 }), usage),
      respond(say('Done.'), usage),
    ],
  })
  const tools = [tool({ name: 'f', description: 'd', effect: 'read', needs: ['kind'] as never, input, execute })]
  const { messages } = await createAgent({ model: wire.model(fetch), tools }).run('Go')
  expect(messages.flatMap((message) => (message.role === 'tool' ? [message.isError ?? false] : []))).toEqual([
    true,
    false,
  ])
})

test('a tool whose input cannot be an object is a ConfigError that names it (W17)', () => {
  for (const input of [z.string(), z.array(z.string()), z.union([z.string(), z.number()])] as const) {
    const wrong = tool({ name: 'odd', description: 'd', input: input as z.ZodType<object>, execute: () => 'x' })
    expect(() => createAgent({ model: wires[0]?.model(fetch) as never, tools: [wrong] })).toThrow(
      /odd must be the schema of an object/,
    )
  }
  const standard = {
    version: 1,
    vendor: 'own',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ anyOf: [null] }), output: () => ({}) },
  }
  const broken = { name: 'odd', description: 'd', input: { '~standard': standard }, execute: () => 'x' } as Tool
  expect(() => createAgent({ model: wires[0]?.model(fetch) as never, tools: [broken] })).toThrow(/odd must be/)
})

test.each(wires)('$name: keywords of older drafts are written in 2020-12 (W17)', async (wire) => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
      empty: { type: 'array', items: [] },
      list: { type: 'array' },
      n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      deep: { anyOf: [{ type: 'object', properties: { x: { type: 'array', items: [{}] } } }] },
      own: { type: 'string', required: true },
    },
    required: ['n'],
  }
  expect(await sent(wire, schema)).toEqual({
    type: 'object',
    properties: {
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      empty: { type: 'array', items: {} },
      list: { type: 'array', items: {} },
      n: { type: 'number', exclusiveMinimum: 0, maximum: 9 },
      deep: { anyOf: [{ type: 'object', properties: { x: { type: 'array', prefixItems: [{}], items: {} } } }] },
      own: { type: 'string' },
    },
    required: ['n', 'own'],
  })
  const data = { type: 'object', properties: { x: { const: { items: [] }, default: { required: true } } } }
  expect(await sent(wire, data)).toEqual(data)
})

test('Moonshot gets a type for each member, and llama.cpp no pattern that is open at its ends (W17)', async () => {
  const properties = {
    any: {},
    choice: { enum: ['a', 'b'] },
    either: { type: 'string', anyOf: [{ minLength: 1 }, { const: 'x' }] },
    list: { type: 'array' },
  }
  expect(await sent(chat, { type: 'object', properties }, kimi)).toMatchObject({
    properties: {
      any: { anyOf: expect.any(Array) as unknown[] },
      choice: { type: 'string' },
      either: {
        anyOf: [
          { type: 'string', minLength: 1 },
          { type: 'string', const: 'x' },
        ],
      },
      list: { items: { anyOf: expect.any(Array) as unknown[] } },
    },
  })
  const pattern = { type: 'object', properties: { x: { type: 'string', pattern: 'a+' } } }
  expect(await sent(chat, pattern, chatHost('llama.cpp', 'qwen3'))).toMatchObject({
    properties: { x: { description: '{pattern: "a+"}' } },
  })
  expect(await sent(chat, pattern)).toEqual(pattern)
})

test('Gemini reads in the description what its schemas cannot express, over Chat and through the AI SDK (W17)', async () => {
  const schema = {
    type: 'object',
    properties: {
      n: { type: 'number', description: 'A size.', exclusiveMinimum: 0, multipleOf: 2 },
      kind: { const: 'one' },
      list: {
        type: 'array',
        items: { anyOf: [{ const: 5 }, { type: 'string', not: { const: '' } }] },
        uniqueItems: true,
      },
      const: { type: 'string' },
    },
  }
  const expected = {
    type: 'object',
    properties: {
      n: { type: 'number', description: 'A size. {exclusiveMinimum: 0, multipleOf: 2}' },
      kind: { type: 'string', enum: ['one'] },
      list: {
        type: 'array',
        items: {
          anyOf: [
            { type: 'number', description: '{const: 5}' },
            { type: 'string', description: '{not: {"type":"string","enum":[""]}}' },
          ],
        },
        description: '{uniqueItems: true}',
      },
      const: { type: 'string' },
    },
  }
  expect(await sent(chat, schema, gemini)).toEqual(expected)
  expect(await sent(chat, schema)).toEqual(schema)
  for (const [provider, inputSchema] of [
    ['google.generative-ai', expected],
    ['google.vertex.chat', expected],
    ['googleVertex.anthropic.messages', schema],
  ] as const) {
    const { model, asked } = handMade('v4', stop, { provider })
    await ask(aiSdk(model), { tools: [defined(schema)] })
    expect(asked[0]?.tools).toMatchObject([{ inputSchema }])
  }
})

const odd = z.object({
  $top: z.number(),
  'filter[id]': z.string().optional(),
  filter_id_: z.string().optional(),
  fine: z.string(),
})
const input = { $top: 1, 'filter[id]': 'x', fine: 'y' }

test('keys that Anthropic rejects have other names on the wire, and their own in the agent (W17)', async () => {
  const script = [
    respond(
      call('f', { _top: 1, filter_id__2: 'x', fine: 'y' }, { id: 'toolu_1' }),
      end({ usage: { inputTokens: 1, outputTokens: 1 } }),
    ),
    respond(say('Done.'), end({ usage: { inputTokens: 1, outputTokens: 1 } })),
  ]
  const mock = mockModels({ script })
  const got: unknown[] = []
  const tools = [tool({ name: 'f', description: 'd', input: odd, execute: (given) => void got.push(given) })]
  const run = createAgent({ model: claude.model(mock.fetch), tools }).stream('Go')
  const deltas: string[] = []
  for await (const event of run) if (event.type === 'tool-input-delta') deltas.push(event.delta)
  const { messages } = await run.result
  expect(got).toEqual([input])
  expect(JSON.parse(deltas.join(''))).toEqual(input)
  expect(messages[1]?.content).toMatchObject([{ type: 'tool-call', input }])
  const [first, second] = mock.requests.map(({ body }) => body as { messages: { content: object[] }[] })
  expect(schemaIn(first)).toMatchObject({ required: ['_top', 'fine'] })
  expect(Object.keys(schemaIn(first).properties as object)).toEqual(['_top', 'filter_id__2', 'filter_id_', 'fine'])
  expect(second?.messages[1]?.content).toMatchObject([{ input: { _top: 1, filter_id__2: 'x', fine: 'y' } }])
})

test('long names that begin alike get their names on the wire in linear time (W17)', async () => {
  await expectLinear(500, async (count) => {
    const keys = Array.from({ length: count }, (_, i) => `$${'x'.repeat(70)}${i}`)
    const inputSchema = { type: 'object', properties: Object.fromEntries(keys.map((key) => [key, {}])) }
    const sent = schemaIn(await bodyOf(claude, { tools: [{ name: 'f', description: 'd', inputSchema }] }))
    expect(Object.keys(sent.properties as object)).toHaveLength(count)
  })
})

test('names on the wire are short and differ from each other, also of many keys, and the description has them (W17)', async () => {
  const keys = [
    ...Array.from({ length: 1_200 }, (_, i) => String.fromCodePoint(0x4e00 + i)),
    'é'.repeat(70),
    'x'.repeat(70),
  ]
  const inputSchema = {
    type: 'object',
    properties: Object.fromEntries([...keys, '_', '__3'].map((key) => [key, {}])),
    dependentRequired: { '\u4e00': ['\u4e01', '_'] },
    description: 'The input must match a rule.',
  }
  const sent = schemaIn(await bodyOf(claude, { tools: [{ name: 'f', description: 'd', inputSchema }] }))
  const names = Object.keys(sent.properties as object)
  expect(new Set(names).size).toBe(keys.length + 2)
  expect(names.filter((name) => !/^[\w.-]{1,64}$/.test(name))).toEqual([])
  expect(sent.dependentRequired).toEqual({ __2: ['__4', '_'] })
  expect(sent.description).toMatch(
    /^The input must match a rule\.\n\nMembers with other names here: __2 is "\u4e00", __4 is /,
  )
})

test('a member that is not in the schema never replaces one that has its name on the wire (W17)', async () => {
  const messages = [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'a1', name: 'f', input: { $top: 1, _top: 'other', more: 2 } }],
      finishReason: 'tool-calls',
    },
    { role: 'tool', callId: 'a1', name: 'f', content: [{ type: 'text', text: 'ok' }] },
  ] as const
  const body = await bodyOf(claude, { tools: [defined(jsonSchema(odd))], messages })
  expect(body).toMatchObject({ messages: [{}, { content: [{ input: { _top: 1, more: 2 } }] }, {}] })
  const script = [respond(call('f', { _top: 1, $top: 'other', fine: 'y' }, { id: 'toolu_1' }))]
  const { message } = await ask(claude.model(mockModels({ script }).fetch), { tools: [defined(jsonSchema(odd))] })
  expect(message.content).toMatchObject([{ input: { $top: 1, fine: 'y' } }])
})

test('a call that may start with a part of its input gets that part by its own names (W17)', async () => {
  const mock = mockModels({ script: [respond(call('f', { _top: 1, fine: 'y' }, { id: 'toolu_1' }))] })
  const model = claude.model(mock.fetch)
  const events: ModelEvent[] = []
  const tools = [{ ...defined(jsonSchema(odd)), needs: ['$top'] }]
  const flow = model.stream(requestTo(model, { tools }))
  for (;;) {
    const { done, value } = await flow.next()
    if (done) break
    events.push(value)
  }
  expect(events.filter(({ type }) => type === 'tool-input-ready')).toMatchObject([{ input: { $top: 1 } }])
})

test.each(realModels.filter(({ wire }) => wire === 'anthropic'))(
  '$title: such keys through the AI SDK (W17)',
  async (real) => {
    const messages = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'tool-call', id: 'a1', name: 'f', input }], finishReason: 'tool-calls' },
      { role: 'tool', callId: 'a1', name: 'f', content: [{ type: 'text', text: 'ok' }] },
    ] as const
    const body = await bodyThrough(real, { tools: [defined(jsonSchema(odd))], messages })
    expect(JSON.stringify(body)).not.toContain('$top"')
    expect(JSON.stringify(body)).toContain('"_top":1')
  },
)

test('arguments of such a tool that are not JSON stay text (W17)', async () => {
  const model = claude.model(mockModels({ script: [respond(call('f', '{"_top":', { id: 'toolu_1' }))] }).fetch)
  const { message } = await ask(model, { tools: [defined(jsonSchema(odd))] })
  expect(message.content).toMatchObject([{ input: '{"_top":', inputError: expect.any(String) as string }])
})

const many = (count: number, of: () => z.ZodType) =>
  z.object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, of()])))
const nested = (levels: number): z.ZodType => (levels === 0 ? z.string() : z.object({ x: nested(levels - 1) }))
const values = (count: number, length = 1) =>
  z.object({ x: z.enum(Array.from({ length: count }, (_, i) => `${i}`.padStart(length, 'e'))) })

test('a format that is too large to enforce is not marked as enforced (W17)', () => {
  const isStrict = (schema: z.ZodType) =>
    jsonSchemaFormat({ name: 'out', schema: jsonSchema(schema) as JsonSchema }).strict
  expect([nested(10), values(1_000, 4), values(250, 100), many(5_000, () => z.string())].map(isStrict)).toEqual(
    Array(4).fill(true),
  )
  expect(
    [nested(11), values(1_001), values(251, 100), many(5_001, () => z.string()), values(250, 500)].map(isStrict),
  ).toEqual(Array(5).fill(false))
  const outside = {
    type: 'object',
    properties: { a: { $ref: '#/properties/b' }, b: { type: 'string' } },
    required: ['a', 'b'],
  }
  expect(jsonSchemaFormat({ name: 'out', schema: outside }).strict).toBe(false)
})

test('Claude returns an output with more than 16 alternatives through a call (W17)', () => {
  const model = claude.model(fetch)
  const takes = (count: number) =>
    model.structuredOutput?.({
      name: 'out',
      schema: jsonSchema(many(count, () => z.string().nullable())) as JsonSchema,
    })
  expect([takes(16), takes(17)]).toEqual([true, false])
})

const manyTools = Array.from({ length: 129 }, (_, n) => ({ ...defined({ type: 'object' }), name: `t${n}` }))

test('more tools than the host accepts are a ConfigError; Messages and unknown hosts have no limit (W17)', async () => {
  const request = (tools: readonly ToolDefinition[]): Partial<ModelRequest> => ({ tools })
  for (const [wire, model] of [
    [chat, undefined],
    [responses, undefined],
    [chat, kimi],
    [chat, chatHost('groq', 'm')],
  ] as const) {
    const failure = await failureOf(bodyOf(wire, request(manyTools), model))
    expect(failure).toMatchObject({
      name: 'ConfigError',
      option: 'tools',
      message: expect.stringContaining('128') as string,
    })
    expect(await failureOf(bodyOf(wire, request(manyTools.slice(1)), model))).toBeUndefined()
  }
  expect(await failureOf(bodyOf(claude, request(manyTools)))).toBeUndefined()
  const onVllm = bodyOf(chat, request(manyTools), chatHost('vllm', 'm'), { except: ['chat/tools-many'] })
  expect(await failureOf(onVllm)).toBeUndefined()
})
