import { setTimeout as wait } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { OpenTelemetry } from '@ai-sdk/otel'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { serveModels } from '@meanwhile/harness/server'
import { context, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { isStepCount, streamText, tool } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { started } from '../test/started.ts'
import { mostSaved } from './geometry/views.ts'
import type { RunDetail, RunList } from './server/api.ts'

test('a run of the AI SDK as it is: steps, tokens, tools at their true times, errors, and what early tools could save (DT3)', async () => {
  const { url } = await started()
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) })
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
  onTestFinished(async () => {
    await processor.shutdown()
    trace.disable()
    context.disable()
  })
  await using models = await serveModels({
    pace: { firstToken: 20, betweenTokens: 10 },
    script: [
      {
        ...respond(
          call('weather', { city: 'Rome' }),
          call('hotels', { city: 'Rome' }),
          say('I look at both, one moment.'),
        ),
        usage: { inputTokens: 812, outputTokens: 64 },
      },
      { ...respond(say('It is sunny.')), usage: { inputTokens: 930, outputTokens: 17 } },
    ],
  })
  const seen: { weather?: readonly [number, number] } = {}
  const inputSchema = z.object({ city: z.string() })
  const weather = tool({
    inputSchema,
    execute: async () => {
      // As OpenTelemetry does: the two clocks of Node may be some milliseconds apart.
      const [from, began] = [Date.now(), performance.now()]
      await wait(60)
      seen.weather = [from, from + performance.now() - began]
      return 'Sunny in Rome'
    },
  })
  const hotels = tool({ inputSchema, execute: (): Promise<string> => Promise.reject(new Error('no rooms')) })
  const { text, steps, totalUsage } = streamText({
    model: createOpenAI({ apiKey: 'none', baseURL: `${models.url}/v1` })('gpt-5-mini'),
    tools: { weather, hotels },
    stopWhen: isStepCount(3),
    prompt: 'Plan three days in Rome.',
    telemetry: { isEnabled: true, functionId: 'trip', integrations: [new OpenTelemetry()] },
  })
  expect(await text).toBe('It is sunny.')
  const logged = { steps: (await steps).length, usage: await totalUsage }
  await processor.forceFlush()

  const [summary, ...more] = (await get<RunList>(`${url}/api/runs`)).runs
  expect(more).toEqual([])
  expect(summary).toMatchObject({
    dialect: 'ai-sdk',
    agent: 'trip',
    model: 'gpt-5-mini',
    title: 'Plan three days in Rome.',
    state: 'completed',
    steps: logged.steps,
    calls: 2,
    usage: { input: logged.usage.inputTokens, output: logged.usage.outputTokens },
  })
  const { run } = await get<RunDetail>(`${url}/api/runs/${summary?.key}`)
  const [first] = run.steps
  const byName = [...(first?.calls ?? [])].sort((a, b) => (a.tool < b.tool ? 1 : -1))
  expect(byName.map(({ tool: name, input, fate, error }) => [name, input, fate, error])).toEqual([
    ['weather', { city: 'Rome' }, 'committed', undefined],
    ['hotels', { city: 'Rome' }, 'failed', 'no rooms'],
  ])
  const [from = 0, to = 0] = seen.weather ?? []
  // Its spans begin in whole milliseconds.
  expect(byName[0]?.start).toBeLessThanOrEqual(from + 1)
  expect(byName[0]?.end).toBeGreaterThanOrEqual(to - 2)
  expect(first?.responses[0]?.first).toBeGreaterThan(first?.responses[0]?.start ?? 0)
  expect(mostSaved(run, 0)).toBeGreaterThan(0)
})

async function get<Answer>(url: string): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer
}
