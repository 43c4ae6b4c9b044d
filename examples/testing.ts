// A test of your own agent, as it would be in `agent.test.ts`: the endpoint is mocked on the wire, so the official
// client, the adapter, retries and the agent are all real. Any test runner works; here it is node:test.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, collect, fail, respond, say } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { assertBefore, assertRanOnce, assertTranscript, watchTools } from '@meanwhile/harness/assert'
import { retryModel } from '@meanwhile/middleware'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})

/** The agent under test; the application passes a client with the default `fetch`. */
function weatherAgent(client: OpenAI, tools: readonly Tool[] = [weather]): Agent {
  const middleware = [retryModel({ baseDelay: 1 }), eagerTools()]
  return createAgent({ model: openai({ client, model: 'gpt-5.1' }), tools, middleware })
}

await test('a busy provider is called again, and the weather is looked up once', async () => {
  const asking = respond(call('weather', { city: 'Oslo' }), say('One moment.'))
  const mock = mockModels({
    script: [respond(fail({ status: 429, code: 'busy' })), asking, respond(say('Sunny.'))],
    pace: { firstToken: 5, betweenTokens: 20 },
  })
  const { tools, executions } = watchTools([weather])
  const agent = weatherAgent(new OpenAI({ apiKey: 'none', fetch: mock.fetch }), tools)

  const { events, result } = await collect(agent.stream('What is the weather in Oslo?'))
  assert.equal(result?.text, 'Sunny.')
  assertBefore(events, 'tool-start', 'text-delta') // it started while the model was still streaming
  assertRanOnce(executions)
  assertTranscript(result.messages)
  assert.equal(mock.requests.length, 3)
  mock.assertComplete()
})
