import Anthropic from '@anthropic-ai/sdk'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, type ToolSchema, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'

// Arguments that mean harm, as a model on the wire sends them: they get a result or a typed error result, and nothing else happens.

const wires: Record<string, (fetch: typeof globalThis.fetch) => Model> = {
  chat: (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm', api: 'chat' }),
  responses: (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm' }),
  anthropic: (fetch) => anthropic({ client: new Anthropic({ apiKey: 'none', fetch }), model: 'm' }),
}

/** Takes every object as it is: a schema of a library would drop some keys. */
const objects = (): Record<string, unknown> => ({ type: 'object', properties: {} })
const anything: ToolSchema<unknown> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value }),
    jsonSchema: { input: objects, output: objects },
  },
}

/** What the tool was given and what the model reads of the call. */
async function send(model: (fetch: typeof globalThis.fetch) => Model, text: string) {
  const deltas = Math.min(text.length, 50)
  const mock = mockModels({ script: [respond(call('take', text, { deltas })), respond(say('Done.'))] })
  const given: unknown[] = []
  const take = tool({
    name: 'take',
    description: 'Takes anything',
    input: anything,
    effect: 'read',
    execute(input) {
      given.push(input)
      return 'taken'
    },
  })
  const agent = createAgent({ model: model(mock.fetch), tools: [take], middleware: [eagerTools()] })
  const { messages } = await agent.run('Go.')
  const [, , result] = messages
  return { given, result: result?.role === 'tool' ? result : undefined }
}

for (const [wire, model] of Object.entries(wires)) {
  test(`${wire}: __proto__ is a key like any other, and no prototype changes (G14)`, async () => {
    const { given } = await send(model, '{"__proto__":{"polluted":true},"a":1}')
    expect(given).toHaveLength(1)
    expect(Object.keys(given[0] as object)).toEqual(['__proto__', 'a'])
    expect('polluted' in {}).toBe(false)
  })

  test(`${wire}: arguments 100,000 levels deep are an error result that names the limit (G14)`, async () => {
    const { given, result } = await send(model, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    expect(given).toEqual([])
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('512 levels') }] })
  })

  test(`${wire}: five megabytes of arguments are an error result that names the limit (G14)`, async () => {
    const { given, result } = await send(model, `{"a":"${'x'.repeat(5_000_000)}"}`)
    expect(given).toEqual([])
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('4194304 characters') }] })
  })

  test(`${wire}: the last of duplicate keys wins, and numbers beyond doubles are what JSON.parse makes of them (G14)`, async () => {
    const { given } = await send(model, '{"a":1,"a":2,"big":12345678901234567890,"huge":1e999,"minus":-0}')
    expect(given).toEqual([{ a: 2, big: 12345678901234567000, huge: Number.POSITIVE_INFINITY, minus: -0 }])
  })

  test(`${wire}: a lone surrogate in arguments is kept and breaks nothing (qC35)`, async () => {
    const { given, result } = await send(model, '{"a":"\\ud83d","b":"\\ud83d\\ude00"}')
    expect(given).toEqual([{ a: '\ud83d', b: '😀' }])
    expect(result?.isError).toBeUndefined()
  })
}
