import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { OpenTelemetry } from '@ai-sdk/otel'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { startDevtools } from '@meanwhile/devtools'
import { eager } from '@meanwhile/eager-tools/ai-sdk'
import { serveModels } from '@meanwhile/harness/server'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { isStepCount, streamText, tool } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

test('devtools show a run of the AI SDK with eager(): each call once, the early one where its function ran, and what that has saved (DT3)', async () => {
  const page = await mkdtemp(join(tmpdir(), 'meanwhile-page-'))
  onTestFinished(() => rm(page, { recursive: true }))
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg']) await writeFile(join(page, name), name)
  const devtools = await startDevtools({ port: 0, page })
  onTestFinished(() => devtools.close())
  const exporter = new OTLPTraceExporter({ url: `${devtools.url}/v1/traces` })
  const processor = new BatchSpanProcessor({ exporter })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
  onTestFinished(async () => {
    await processor.shutdown()
    trace.disable()
    context.disable()
  })
  await using models = await serveModels({
    pace: { firstToken: 20, betweenTokens: 20 },
    script: [
      respond(call('look', {}), call('note', {}), say('I look, and write down what I have found, one moment.')),
      respond(say('It is sunny.')),
    ],
  })
  const inputSchema = z.object({})
  const options = {
    model: createOpenAI({ apiKey: 'none', baseURL: `${models.url}/v1` })('gpt-5-mini'),
    tools: {
      look: tool({ inputSchema, execute: () => wait(100, 'Sunny.') }),
      note: tool({ inputSchema, execute: () => 'noted' }),
    },
    stopWhen: isStepCount(3),
    prompt: 'Look, and write it down.',
    telemetry: { isEnabled: true, integrations: [new OpenTelemetry()] },
  }
  expect(await streamText(eager(options, { look: 'read' })).text).toBe('It is sunny.')
  await processor.forceFlush()

  const read = async (path: string): Promise<unknown> => (await fetch(`${devtools.url}/api/runs${path}`)).json()
  const saved = expect.toSatisfy((ms: number) => ms > 0)
  const Runs = z.object({ runs: z.tuple([z.looseObject({ key: z.string() })]) })
  const [summary] = Runs.parse(await read('')).runs
  expect(summary).toMatchObject({ dialect: 'ai-sdk', steps: 2, calls: 2, saved })
  expect(summary).not.toHaveProperty('upTo')
  const detail = await read(`/${summary.key}`)
  const early = { tool: 'look', effect: 'read', early: true, fate: 'committed' }
  expect(detail).toMatchObject({
    saving: { after: summary.saved },
    run: { steps: [{ calls: [early, { tool: 'note', early: false, fate: 'committed' }] }, { calls: [] }] },
  })
  expect(detail).not.toHaveProperty('saving.upTo')
})
