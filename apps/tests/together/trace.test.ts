import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { otlpReceiver, spanTree } from '@meanwhile/harness/otlp'
import { serveModels } from '@meanwhile/harness/server'
import { retryModel } from '@meanwhile/middleware'
import { openai } from '@meanwhile/models/openai'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'

const pause = (name: string, ms: number) =>
  tool({
    name,
    description: name,
    input: z.object({ city: z.string() }),
    effect: 'read',
    execute: () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), ms)),
  })

const notes: Middleware = { name: 'notes', beforeModel: () => undefined }

/** Takes back what the model asked of the clock. */
const guard: Middleware = {
  name: 'guard',
  afterModel({ messages }) {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return
    const content = last.content.filter((part) => part.type !== 'tool-call' || part.name !== 'get_time')
    return { messages: [...messages.slice(0, -1), { ...last, content }] }
  },
}

test('a run over the wire arrives at an OTLP collector as one tree, its early tools overlapping the model call that asked', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const receiver = await otlpReceiver()
  const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` })
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const server = await serveModels({
    script: [
      respond(
        say('Let me see. '),
        call('get_weather', { city: 'Rome' }),
        call('search_flights', { city: 'Rome' }),
        call('get_time', { city: 'Rome' }),
        wait(150),
        say('One moment.'),
      ),
      respond(say('Sunny, and there is a flight.')),
    ],
    pace: { firstToken: 20, betweenTokens: 5 },
  })
  try {
    const client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1` })
    const agent = createAgent({
      name: 'trip_planner',
      model: openai({ client, model: 'mock-1', api: 'responses' }),
      tools: [pause('get_weather', 50), pause('search_flights', 400), pause('get_time', 10)],
      middleware: [notes, retryModel(), eagerTools(), guard],
      telemetry: { tracerProvider },
    })
    await agent.run('Weather and flights for Rome?')
    await tracerProvider.shutdown()

    const modelCall = {
      name: 'middleware retry-model wrapModel',
      children: [{ name: 'middleware eager-tools wrapModel', children: [{ name: 'chat mock-1' }] }],
    }
    expect(spanTree(receiver.spans)).toEqual([
      {
        name: 'invoke_agent trip_planner',
        children: [
          {
            name: 'middleware eager-tools wrapAgent',
            children: [
              { name: 'middleware notes beforeModel' },
              modelCall,
              { name: 'execute_tool get_weather' },
              { name: 'execute_tool search_flights' },
              { name: 'execute_tool get_time' },
              { name: 'middleware guard afterModel' },
              { name: 'middleware notes beforeModel' },
              modelCall,
              { name: 'middleware guard afterModel' },
            ],
          },
        ],
      },
    ])

    const [chat] = receiver.spans.filter(({ name }) => name === 'chat mock-1')
    const tools = receiver.spans.filter(({ name }) => name.startsWith('execute_tool'))
    const fates = tools.map(({ attributes, name, start, links }) => ({
      name,
      startsInTheStream: chat !== undefined && start < chat.end,
      linked: links.map(({ spanId }) => spanId === chat?.spanId),
      mode: attributes['meanwhile.dispatch.mode'],
      evidence: attributes['meanwhile.dispatch.evidence'],
      outcome: attributes['meanwhile.outcome'],
      reason: attributes['meanwhile.discard.reason'],
    }))
    const early = { startsInTheStream: true, linked: [true], mode: 'early', evidence: 'closed' }
    expect(fates.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: 'execute_tool get_time', ...early, outcome: 'discarded', reason: 'call_withdrawn' },
      { name: 'execute_tool get_weather', ...early, outcome: 'committed', reason: undefined },
      { name: 'execute_tool search_flights', ...early, outcome: 'committed', reason: undefined },
    ])
    await server.assertComplete()
  } finally {
    await tracerProvider.shutdown()
    await server.close()
    await receiver.close()
  }
})
