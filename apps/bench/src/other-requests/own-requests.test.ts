import Anthropic from '@anthropic-ai/sdk'
import { createAgent, type Model, type Tool, type ToolSchema, tool } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness/server'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import type { PeerRun, PeerTool } from '../peers/driver.ts'
import { INPUTS } from './inputs.ts'
import { sentBy } from './sent.ts'

/** The model at the provider's own address, by which our adapters know its limits. Requests go to the mock. */
function modelOf(wire: WireName, url: string): Model {
  const toMock = (input: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    return fetch(`${url}${pathname}`, init)
  }
  const options = { apiKey: 'none', maxRetries: 0, fetch: toMock }
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'scripted' })
  return openai({
    client: new OpenAI(options),
    model: 'scripted',
    api: wire === 'openai-chat' ? 'chat' : 'responses',
  })
}

/** A schema that accepts every value. */
function schemaOf(schema: PeerTool['schema']): ToolSchema {
  const json = () => ({ ...schema })
  return {
    '~standard': {
      version: 1,
      vendor: 'none',
      validate: (value) => ({ value }),
      jsonSchema: { input: json, output: json },
    },
  }
}

const own: PeerRun = async ({ wire, url, prompt, tools, work, signal }) => {
  const made = tools.map(
    ({ name, description, schema }): Tool =>
      tool({
        name,
        description,
        input: schemaOf(schema),
        execute: (input, { callId, signal }) => work({ callId, tool: name, input }, signal),
      }),
  )
  const { text } = await createAgent({ model: modelOf(wire, url), tools: made }).run(prompt, { signal })
  return text
}

/** The page says the same. */
const LIKELY = [['a tool with a description of 2,000 characters', 'chat/tool-description']]
const DOT = ['a tool whose name has a dot', 'tools: "weather.now" is not a valid tool name: [A-Za-z0-9_-]{1,64}']
const MANY = [
  '129 tools',
  'tools: openai accepts at most 128 tools in a request, and this one has 129; toolSearch() shows the model only those that it asks for',
]

test.each([
  ['openai-chat', LIKELY, [DOT, MANY]],
  ['openai-responses', [], [DOT, MANY]],
  ['anthropic', [], [DOT]],
] as const)(
  'with the inputs that other libraries get, our adapters break no certain rule on %s (W23)',
  async (wire, broken, refused) => {
    const sent = await sentBy(own, wire)
    expect(sent.map(({ input }) => input)).toEqual(INPUTS.map(({ name }) => name))
    expect(sent.flatMap(({ input, refusals }) => refusals.map(({ rule }) => [input, rule]))).toEqual(broken)
    expect(sent.flatMap(({ input, error }) => (error === undefined ? [] : [[input, error]]))).toEqual(refused)
  },
)
