import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { call, cut, end, fail, respond, say, think } from '@meanwhile/assemble/testing'
import { type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Reach } from '../test/clients.ts'
import { transports } from '../test/transports.ts'

// The AI SDK has no code for the harness: it gets a `fetch`, or a base URL.
const providers: Record<string, (reach: Reach) => LanguageModel> = {
  'openai-chat': ({ fetch, url }) => openai(fetch, url).chat('gpt'),
  'openai-responses': ({ fetch, url }) => openai(fetch, url).responses('gpt'),
  anthropic: ({ fetch, url }) =>
    createAnthropic({ apiKey: 'none', ...(fetch && { fetch }), ...(url && { baseURL: `${url}/v1` }) })('claude'),
}

function openai(fetch: Reach['fetch'], url: Reach['url']) {
  return createOpenAI({ apiKey: 'none', ...(fetch && { fetch }), ...(url && { baseURL: `${url}/v1` }) })
}

const everywhere = transports.flatMap((transport) =>
  Object.entries(providers).map(([wire, model]) => ({ wire, transport, over: transport.name, model })),
)

const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})

test.for(everywhere)('the AI SDK works with $wire over $over, including tools', async ({ transport, model }) => {
  const stage = await transport.serve({
    script: [
      respond(say('I will look.'), call('weather', { city: 'Zürich' })),
      respond(think('Nice.'), say('It is sunny — 東京.'), end({ usage: { inputTokens: 12, outputTokens: 34 } })),
    ],
  })
  const run = streamText({
    model: model(stage),
    prompt: 'Weather?',
    maxOutputTokens: 100,
    tools: { weather },
    stopWhen: stepCountIs(3),
  })
  const steps = await run.steps
  expect(steps.map(({ text, finishReason }) => [text, finishReason])).toEqual([
    ['I will look.', 'tool-calls'],
    ['It is sunny — 東京.', 'stop'],
  ])
  expect(steps[0]?.toolResults).toMatchObject([{ input: { city: 'Zürich' }, output: 'sunny in Zürich' }])
  expect(await run.usage).toMatchObject({ inputTokens: 12, outputTokens: 34 })
  const requests = await stage.requests()
  expect(JSON.stringify(requests[1]?.body)).toContain('sunny in Zürich')
  await stage.assertComplete()
})

test.for(everywhere)('over $over the AI SDK retries $wire after a 429', async ({ transport, model }) => {
  const script = [respond(fail({ status: 429, code: 'rate_limit_error', retryAfter: 10 })), respond(say('Now.'))]
  const stage = await transport.serve({ script })
  expect(await streamText({ model: model(stage), prompt: 'Hi', maxOutputTokens: 100, onError: () => {} }).text).toBe(
    'Now.',
  )
  await stage.assertComplete()
})

test.for(everywhere)('over $over a truncated $wire stream leaves the AI SDK without a finish reason', async (at) => {
  const stage = await at.transport.serve({ script: [respond(say('Half an'), cut())] })
  const run = streamText({ model: at.model(stage), prompt: 'Hi', maxOutputTokens: 100, onError: () => {} })
  let text = ''
  const reasons: string[] = []
  for await (const part of run.fullStream) {
    if (part.type === 'text-delta') text += part.text
    if (part.type === 'finish') reasons.push(part.finishReason)
  }
  expect(text).toBe('Half an')
  expect(reasons).not.toContain('stop')
})
