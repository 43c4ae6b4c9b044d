import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { metrics, trace } from '@opentelemetry/api'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { observed } from '../../test/observed.ts'
import { createAgent, runTool, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

afterAll(() => {
  trace.disable()
  metrics.disable()
})

const look = tool({ name: 'look', description: 'l', input: z.object({}), execute: () => 'seen' }) as Tool
const script = [respond(call('look')), respond(say('Done.'))]
const model = scriptedModel([...script, ...script, ...script])
const agent = createAgent({ name: 'early bird', model, tools: [look] })

test('an SDK that is registered after an agent has run receives spans and metrics of the next run', async () => {
  await agent.run('Go')
  await runTool(look, {})

  const { telemetry, spans, points } = observed()
  trace.setGlobalTracerProvider(telemetry.tracerProvider)
  metrics.setGlobalMeterProvider(telemetry.meterProvider)
  await agent.run('Go')
  await runTool(look, {})
  await agent.run('Go')

  const run = ['chat scripted-1', 'execute_tool look', 'chat scripted-1', 'invoke_agent early bird']
  expect(spans().map(({ name }) => name)).toEqual([...run, 'execute_tool look', ...run])
  const counts = Object.fromEntries((await points()).map(({ name, count, sum }) => [name, count ?? sum]))
  expect(counts).toMatchObject({
    'gen_ai.invoke_agent.duration': 2,
    'gen_ai.client.inference.duration': 4,
    'meanwhile.dispatch.lag': 1,
  })
  const calls = (await points()).filter(({ name }) => name === 'gen_ai.execute_tool.duration')
  expect(calls.map(({ count, attributes }) => [count, attributes['gen_ai.agent.name']])).toEqual([
    [2, 'early bird'],
    [1, undefined],
  ])
})
