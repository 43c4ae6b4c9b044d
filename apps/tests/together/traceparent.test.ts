/** The trace context that a model's endpoint receives. */

import Anthropic from '@anthropic-ai/sdk'
import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { retryModel } from '@meanwhile/middleware'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { context, propagation } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})
beforeEach(() => exporter.reset())

const look = tool({ name: 'look', description: 'l', input: z.object({}), effect: 'read', execute: () => 'seen' })

type Fetch = typeof globalThis.fetch

/** Like an instrumented HTTP client: the request has the context that is active when it is made. */
const instrumented =
  (fetch: Fetch, sent: string[]): Fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers)
    propagation.inject(context.active(), headers, { set: (to, name, value) => to.set(name, value) })
    sent.push(headers.get('traceparent') ?? 'none')
    return fetch(input, { ...init, headers })
  }

const client = { apiKey: 'none', maxRetries: 0, logLevel: 'off' } as const
const models: Readonly<Record<string, (fetch: Fetch) => Model>> = {
  'openai, chat': (fetch) => openai({ client: new OpenAI({ ...client, fetch }), model: 'mock-1', api: 'chat' }),
  'openai, responses': (fetch) =>
    openai({ client: new OpenAI({ ...client, fetch }), model: 'mock-1', api: 'responses' }),
  anthropic: (fetch) => anthropic({ client: new Anthropic({ ...client, fetch }), model: 'mock-1' }),
}

test.for(Object.keys(models))('%s: each request names the chat span of its own attempt', async (name) => {
  const mock = mockModels({
    script: [respond(fail({ status: 503 })), respond(call('look'), say('One moment.')), respond(say('Done.'))],
  })
  const sent: string[] = []
  const model = models[name]?.(instrumented(mock.fetch, sent))
  if (!model) throw new Error(`no model ${name}`)
  const agent = createAgent({
    model,
    tools: [look],
    middleware: [retryModel({ random: () => 0 }), eagerTools()],
    telemetry: { tracerProvider },
  })
  await agent.run('Go')
  const chats = exporter.getFinishedSpans().filter((span) => span.name === 'chat mock-1')
  expect(chats).toHaveLength(3)
  expect(sent).toEqual(
    chats.map((span) => {
      const { traceId, spanId } = span.spanContext()
      return `00-${traceId}-${spanId}-01`
    }),
  )
})
