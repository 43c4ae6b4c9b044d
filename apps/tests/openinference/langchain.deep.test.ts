import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain'
import * as CallbackManagerModule from '@langchain/core/callbacks/manager'
import { ChatOpenAI } from '@langchain/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { startDevtools } from '@meanwhile/devtools'
import { serveModels } from '@meanwhile/harness/server'
import { context, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { createAgent, tool } from 'langchain'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

test('a run of LangChain by OpenInference: agent, steps, tokens, tools, errors, and no bound (DT3)', async () => {
  await using devtools = await startDevtools({ port: 0, page: await standIn() })
  const { url } = devtools
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) })
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
  onTestFinished(async () => {
    await processor.shutdown()
    trace.disable()
    context.disable()
  })
  new LangChainInstrumentation().manuallyInstrument(CallbackManagerModule)
  await using models = await serveModels({
    script: [
      {
        ...respond(say('I look at both.'), call('weather', { city: 'Rome' }), call('hotels', { city: 'Rome' })),
        usage: { inputTokens: 812, outputTokens: 64 },
      },
      { ...respond(say('It is sunny.')), usage: { inputTokens: 930, outputTokens: 17 } },
    ],
  })
  const schema = z.object({ city: z.string() })
  const seen: { weatherEnded?: number } = {}
  const weather = tool(
    async ({ city }) => {
      await wait(60)
      seen.weatherEnded = Date.now()
      return `Sunny in ${city}`
    },
    { name: 'weather', description: 'the weather', schema },
  )
  const hotels = tool(
    async (): Promise<string> => {
      throw new Error('no rooms')
    },
    { name: 'hotels', description: 'hotels', schema },
  )
  const model = new ChatOpenAI({ model: 'gpt-5-mini', apiKey: 'none', configuration: { baseURL: `${models.url}/v1` } })
  const agent = createAgent({ model, tools: [weather, hotels], name: 'trip' })
  const stream = await agent.stream(
    { messages: [{ role: 'user', content: 'Plan three days in Rome.' }] },
    { streamMode: 'messages', configurable: { thread_id: 'thread-7' } },
  )
  const logged = { input: 0, output: 0 }
  for await (const [{ usage_metadata: usage }] of stream as AsyncIterable<readonly [Told]>) {
    logged.input += usage?.input_tokens ?? 0
    logged.output += usage?.output_tokens ?? 0
  }
  await processor.forceFlush()

  const { runs } = await get<{ readonly runs: readonly Summary[] }>(`${url}/api/runs`)
  expect(runs).toMatchObject([
    {
      dialect: 'openinference',
      agent: 'trip',
      model: 'gpt-5-mini',
      title: 'Plan three days in Rome.',
      conversation: 'thread-7',
      state: 'completed',
      steps: 2,
      calls: 2,
      usage: logged,
    },
  ])
  expect(logged).toEqual({ input: 1_742, output: 81 })
  // It does not say when the first token came.
  expect(runs[0]).not.toHaveProperty('upTo')
  const { run } = await get<{ readonly run: { readonly steps: readonly { readonly calls: readonly Call[] }[] } }>(
    `${url}/api/runs/${runs[0]?.key}`,
  )
  const calls = [...(run.steps[0]?.calls ?? [])].sort((a, b) => (a.tool < b.tool ? 1 : -1))
  // If an input has one member, it records only the value of that.
  expect(calls).toMatchObject([
    { tool: 'weather', input: 'Rome', output: 'Sunny in Rome', fate: 'committed' },
    { tool: 'hotels', input: 'Rome', fate: 'failed', error: expect.stringContaining('no rooms') },
  ])
  // LangChain tells what happens in the background, so a span may begin after its function. It never ends before it.
  expect(calls[0]?.end).toBeGreaterThanOrEqual((seen.weatherEnded ?? Infinity) - 1)
})

/** In place of the built page. */
async function standIn(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-page-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg']) await writeFile(join(folder, name), '')
  return folder
}

/** A message of LangChain, or a part of one. */
interface Told {
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number }
}

interface Summary {
  readonly key: string
}

interface Call {
  readonly tool: string
  readonly start: number
  readonly end: number
}

async function get<Answer>(url: string): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer
}
