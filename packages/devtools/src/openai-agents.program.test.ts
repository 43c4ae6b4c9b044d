import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { serveModels } from '@meanwhile/harness/server'
import {
  Agent,
  addTraceProcessor,
  OpenAIResponsesModel,
  run,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  withTrace,
} from '@openai/agents'
import { context, trace } from '@opentelemetry/api'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { started } from '../test/started.ts'
import { agentsTraceProcessor } from './openai-agents.ts'
import { devtools } from './processor.ts'
import type { RunDetail, RunList } from './server/api.ts'

test('a run of the OpenAI Agents SDK: agent, turns, responses with tokens, functions with their results and errors (DT3)', async () => {
  const { url } = await started()
  const processor = devtools({ url })
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
  onTestFinished(async () => {
    await processor.shutdown()
    trace.disable()
    context.disable()
  })
  // It is off in tests.
  setTracingDisabled(false)
  setTraceProcessors([])
  addTraceProcessor(agentsTraceProcessor({ captureContent: true }))

  await using models = await serveModels({
    script: [
      {
        ...respond(say('I look at both.'), call('weather', { city: 'Rome' }), call('hotels', { city: 'Rome' })),
        usage: { inputTokens: 812, outputTokens: 64, cacheReadTokens: 512 },
      },
      { ...respond(say('It is sunny.')), usage: { inputTokens: 930, outputTokens: 17 } },
    ],
  })
  const client = new OpenAI({ apiKey: 'none', baseURL: `${models.url}/v1` })
  const city = z.object({ city: z.string() })
  const seen: { weather?: readonly [number, number] } = {}
  const weather = tool({
    name: 'weather',
    description: 'the weather',
    parameters: city,
    execute: async () => {
      const from = Date.now()
      await wait(60)
      seen.weather = [from, Date.now()]
      return 'Sunny in Rome'
    },
  })
  const hotels = tool({
    name: 'hotels',
    description: 'hotels',
    parameters: city,
    execute: () => Promise.reject(new Error('no rooms')),
  })
  const agent = new Agent({
    name: 'trip',
    model: new OpenAIResponsesModel(client, 'gpt-5-mini'),
    tools: [weather, hotels],
  })
  const output = await withTrace(
    'trip',
    async () => {
      const answer = await run(agent, 'Plan three days in Rome.', { stream: true })
      await answer.completed
      return answer.finalOutput
    },
    { groupId: 'rome-1' },
  )
  expect(output).toBe('It is sunny.')
  await processor.forceFlush()

  const [summary, ...more] = (await get<RunList>(`${url}/api/runs`)).runs
  expect(more).toEqual([])
  expect(summary).toMatchObject({
    agent: 'trip',
    conversation: 'rome-1',
    model: 'gpt-5-mini',
    state: 'completed',
    steps: 2,
    calls: 2,
    usage: { input: 1_742, output: 81, cacheRead: 512 },
  })
  const { steps } = (await get<RunDetail>(`${url}/api/runs/${summary?.key}`)).run
  expect(steps.map(({ responses }) => responses.map(({ text }) => text))).toEqual([
    ['I look at both.'],
    ['It is sunny.'],
  ])
  const [first] = steps
  // The order of their starts, which may be the same millisecond.
  const calls = first?.calls.toSorted((one, other) => other.tool.localeCompare(one.tool)) ?? []
  expect(calls.map(({ tool, input, fate }) => [tool, input, fate])).toEqual([
    ['weather', { city: 'Rome' }, 'committed'],
    ['hotels', { city: 'Rome' }, 'failed'],
  ])
  const [drawn] = calls
  expect(drawn?.output).toBe('Sunny in Rome')
  const [from = 0, to = 0] = seen.weather ?? []
  // The SDK tells whole milliseconds.
  expect(drawn?.start).toBeLessThanOrEqual(from)
  expect(drawn?.end).toBeGreaterThanOrEqual(to)
})

async function get<Answer>(url: string): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer
}
