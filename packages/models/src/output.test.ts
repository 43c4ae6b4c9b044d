import Anthropic from '@anthropic-ai/sdk'
import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, tool } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { handMade, VERSIONS } from '../test/ai-sdk.ts'
import { ask, bodyOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

const output = z.object({ city: z.string(), days: z.number().min(1) })
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'number', description: '{minimum: 1}' } },
  required: ['city', 'days'],
  additionalProperties: false,
}
const format = {
  name: 'final_answer',
  schema: z.toJSONSchema(output, { io: 'input' }) as { readonly type: string },
}

const weather = tool({
  name: 'weather',
  description: 'The weather',
  input: z.object({ city: z.string() }),
  execute: () => 'sunny',
})

/** AI SDK 5 reads no end of a response without usage. */
const usage = end({ usage: { inputTokens: 1, outputTokens: 1 } })

/** A tool step, an answer that does not match, and one that does. */
const native = [
  respond(call('weather', { city: 'Bern' }), usage),
  respond(say('{"city":"Bern","days":0}'), usage),
  respond(say('{"city":"Bern","days":2}'), usage),
]
const called = [
  respond(call('weather', { city: 'Bern' }), usage),
  respond(say('Bern, two days.'), usage),
  respond(call('weather', { city: 'Bern' }), call('final_answer', { city: 'Bern', days: 2 }), usage),
]

async function outcome(model: Model) {
  const result = await createAgent({ model, tools: [weather], output }).run('Where to?')
  return { output: result.output, steps: result.steps }
}

const expected = { output: { city: 'Bern', days: 2 }, steps: 3 }

test.each(wires)('$name: an agent requests its output natively, and gets it (M14)', async (wire) => {
  const { fetch, requests } = mockModels({ script: native })
  expect(await outcome(wire.model(fetch))).toEqual(expected)
  const bodies = requests.map(({ body }) => JSON.stringify(body))
  for (const body of bodies) expect(body).toContain('json_schema')
  for (const { body } of requests) expect(body).toMatchObject({ tools: [{}] })
  expect(bodies[2]).toContain('Too small: expected number to be >=1. Answer only with JSON')
})

const without: readonly (readonly [string, (fetch: typeof globalThis.fetch) => Model])[] = [
  [
    'a host on Chat Completions',
    (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm', api: 'chat', provider: 'deepseek' }),
  ],
  ['an old GPT', (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'gpt-4-turbo' })],
  [
    'an old Claude',
    (fetch) => anthropic({ client: new Anthropic({ apiKey: 'none', fetch }), model: 'claude-sonnet-4-20250514' }),
  ],
]

test.each(without)('%s has no structured output: the output comes through a call (M14)', async (_, model) => {
  const { fetch, requests } = mockModels({ script: called })
  expect(await outcome(model(fetch))).toEqual(expected)
  for (const { body } of requests) {
    expect(body).toMatchObject({ tools: [{}, {}] })
    expect(JSON.stringify(body)).not.toContain('json_schema')
  }
})

test.each(realModels)('$title: through the AI SDK, too, an agent gets its output (M14)', async ({ wire, model }) => {
  const isOpenAI = wire !== 'anthropic'
  const { fetch, requests } = mockModels({ script: isOpenAI ? native : called })
  expect(await outcome(aiSdk(model(fetch)))).toEqual(expected)
  for (const { body } of requests) expect(JSON.stringify(body).includes('json_schema')).toBe(isOpenAI)
})

test('each wire has its own member for the format, and keeps the user’s other members there (M14)', async () => {
  const strict = { name: 'final_answer', schema, strict: true }
  expect(await bodyOf(chat, { output: format })).toMatchObject({
    response_format: { type: 'json_schema', json_schema: strict },
  })
  const verbose = { providerOptions: { openai: { text: { verbosity: 'low' } } } }
  expect(await bodyOf(responses, { output: format, settings: verbose })).toMatchObject({
    text: { format: { type: 'json_schema', ...strict }, verbosity: 'low' },
  })
  const hard = { providerOptions: { anthropic: { output_config: { effort: 'high' } } } }
  expect(await bodyOf(claude, { output: format, settings: hard })).toMatchObject({
    output_config: { format: { type: 'json_schema', schema }, effort: 'high' },
  })
})

test('a request without output has none of these members', async () => {
  for (const wire of wires) {
    for (const member of ['response_format', 'text', 'output_config']) {
      expect(await bodyOf(wire, {})).not.toHaveProperty(member)
    }
  }
})

test.each(VERSIONS)('%s: the AI SDK receives the format as its response format (M14)', async (version) => {
  const { model, asked } = handMade(version, [
    { type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } },
  ])
  await ask(aiSdk(model), { output: format }).catch(() => undefined)
  expect(asked[0]?.responseFormat).toEqual({ type: 'json', name: 'final_answer', schema })
})

const open = { name: 'final_answer', schema: { type: 'object', additionalProperties: { type: 'number' } } }
const recursive = {
  name: 'final_answer',
  schema: { type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, required: ['a'] },
}
const loose = {
  name: 'final_answer',
  schema: {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`m${n}`, { type: 'string' }])),
  },
}

test('a model declares which schemas it supports: Anthropic’s no open, recursive or very optional ones (M14)', () => {
  const client = new Anthropic({ apiKey: 'none' })
  const takes = (options: Omit<Parameters<typeof anthropic>[0], 'client'>, of = format) =>
    anthropic({ client, ...options }).structuredOutput?.(of)
  const model = 'claude-sonnet-4-5'
  expect(takes({ model })).toBe(true)
  expect([open, recursive, loose].map((of) => takes({ model }, of))).toEqual([false, false, false])
  const old = ['claude-3-7-sonnet-latest', 'claude-opus-4-1', 'claude-sonnet-4', 'claude-opus-4-20250514']
  expect(old.map((model) => takes({ model }))).toEqual(old.map(() => false))
  expect(takes({ model: 'claude-opus-4-8' })).toBe(true)
  expect(takes({ model, provider: 'aws.bedrock' })).toBe(false)
  expect(takes({ model, provider: 'aws.bedrock', structuredOutput: true })).toBe(true)
  expect(takes({ model, structuredOutput: false })).toBe(false)
})

test('OpenAI’s models support any schema, hosts and old models none, unless the user overrides this (M14)', () => {
  const client = new OpenAI({ apiKey: 'none' })
  const takes = (options: Omit<Parameters<typeof openai>[0], 'client'>, of = format) =>
    openai({ client, ...options }).structuredOutput?.(of)
  for (const model of ['gpt-5.1', 'gpt-4o', 'gpt-4.1-mini', 'o3', 'ft:gpt-4o-2024-08-06:me'])
    expect(takes({ model })).toBe(true)
  for (const model of ['gpt-4', 'gpt-4-turbo', 'gpt-3.5-turbo', 'chatgpt-4o-latest', 'o1-mini']) {
    expect(takes({ model })).toBe(false)
  }
  expect(takes({ model: 'gpt-5.1' }, open)).toBe(true)
  expect(takes({ model: 'gpt-5.1', provider: 'azure.ai.openai' })).toBe(true)
  expect(takes({ model: 'glm', provider: 'zai' })).toBe(false)
  expect(takes({ model: 'glm', provider: 'zai', structuredOutput: true })).toBe(true)
})

test('of the AI SDK’s models OpenAI’s are asked for structured output, if the schema can be enforced (M14)', () => {
  const takes = (provider: string, of = format, structuredOutput?: boolean) =>
    aiSdk(
      handMade('v4', [], { provider }).model,
      structuredOutput === undefined ? {} : { structuredOutput },
    ).structuredOutput?.(of)
  expect(
    ['openai.chat', 'azure.responses', 'google.generative-ai', 'anthropic.messages'].map((of) => takes(of)),
  ).toEqual([true, true, false, false])
  expect(takes('openai.responses', open)).toBe(false)
  const old = handMade('v4', [], { provider: 'openai.chat' }).model
  expect(aiSdk({ ...old, modelId: 'gpt-4-turbo' }).structuredOutput?.(format)).toBe(false)
  expect(takes('google.generative-ai', format, true)).toBe(true)
})
