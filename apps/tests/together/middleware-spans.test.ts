import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type MiddlewareSpans, type Model, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { spanOutline } from '@meanwhile/harness/otlp'
import { standard } from '@meanwhile/middleware'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

// How many spans a run with the recommended middleware has. The trees stand in docs/jaeger.md.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  async execute() {
    await new Promise((resolve) => setTimeout(resolve, 200))
    return 'Sunny.'
  },
})

const says = (...calls: Parameters<typeof call>): Model =>
  scriptedModel([respond(wait(100), call(...calls), wait(300), say('One moment.')), respond(wait(100), say('Sunny.'))])

/** The spans of a run, as lines. With `expert` the tool is an agent that answers at once. */
async function linesOf(spans: MiddlewareSpans | undefined, expert = false): Promise<readonly string[]> {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const more = {
    middleware: [...standard(), eagerTools()],
    telemetry: { tracerProvider, ...(spans && { middleware: spans }) },
  }
  const model = scriptedModel([respond(wait(100), say('Sunny.'))])
  const inner = createAgent({ name: 'expert', description: 'Knows the weather.', model, ...more })
  const agent = expert
    ? createAgent({ name: 'trip', model: says('expert', { request: 'Rome?' }), tools: [agentTool(inner)], ...more })
    : createAgent({ name: 'trip', model: says('weather', { city: 'Rome' }), tools: [weather], ...more })
  const run = agent.run('Where to?')
  await vi.runAllTimersAsync()
  expect((await run).text).toBe('Sunny.')
  return spanOutline(exporter.getFinishedSpans()).split('\n')
}

test('with all spans of middleware, a run with one tool and two steps has 25, and with an agent as the tool 39', async () => {
  const lines = await linesOf(undefined)
  expect(lines).toEqual(await linesOf('all'))
  expect(lines).toHaveLength(25)
  expect(await linesOf('all', true)).toHaveLength(39)
})

test('with those of middleware that did something by itself, the same run has at most 8', async () => {
  const lines = await linesOf('changed')
  expect(lines.length).toBeLessThanOrEqual(8)
  expect(lines.filter((line) => !line.includes('middleware'))).toEqual(await linesOf('none'))
})

test('with none, a run has a span for itself, for each model call and for each tool call', async () => {
  expect(await linesOf('none')).toEqual([
    'invoke_agent trip',
    '  chat scripted-1',
    '  execute_tool weather',
    '  chat scripted-1',
  ])
  expect(await linesOf('none', true)).toEqual([
    'invoke_agent trip',
    '  chat scripted-1',
    '  execute_tool expert',
    '    invoke_agent expert',
    '      chat scripted-1',
    '  chat scripted-1',
  ])
})
