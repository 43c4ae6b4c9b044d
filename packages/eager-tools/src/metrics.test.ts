import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { pushed } from '../test/pushed.ts'
import { workshop } from '../test/workshop.ts'
import { createToolExecutor, eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** The measurements as lines: `metric count sum values`, with the sum in seconds and the values of some attributes. */
function measuring() {
  const reader = new Reader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const measured = async (...names: readonly string[]) => {
    const { resourceMetrics } = await reader.collect()
    const lines = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          const { count = '', sum = value } = typeof value === 'number' ? {} : (value as Histogram)
          const words = [
            'gen_ai.tool.name',
            'meanwhile.dispatch.mode',
            'meanwhile.dispatch.evidence',
            'meanwhile.outcome',
          ]
          const said = words.map((word) => attributes[word]).filter((value) => typeof value === 'string')
          return [descriptor.name, count, Math.round(Number(sum) * 1e3) / 1e3, ...said].join(' ')
        }),
      ),
    )
    return lines.filter((line) => names.some((name) => line.startsWith(`${name} `))).toSorted()
  }
  return { telemetry: { meterProvider }, measured }
}

/** Each effect once, and text after the last call; at 100 ms everything is sealed, at 200 the stream ends. */
const response = respond(
  wait(100),
  call('look', { n: 1, ms: 300 }, { id: 'c1' }),
  call('put', { n: 2, ms: 10 }, { id: 'c2' }),
  call('send', { n: 3, ms: 10 }, { id: 'c3' }),
  wait(100),
  say('So.'),
)

const CALLS = [
  'gen_ai.execute_tool.duration 1 0.01 put committed',
  'gen_ai.execute_tool.duration 1 0.01 send committed',
  'gen_ai.execute_tool.duration 1 0.3 look committed',
  'gen_ai.invoke_agent.tool_calls 1 3',
  'meanwhile.dispatch.lag 1 0 look closed',
  'meanwhile.dispatch.lag 1 0 put sealed',
  'meanwhile.dispatch.lag 1 0 send model_stood',
  'meanwhile.head_start 1 0.1 look',
  'meanwhile.head_start 1 0.1 put',
  'meanwhile.tool_calls  1 look early committed',
  'meanwhile.tool_calls  1 put early committed',
  'meanwhile.tool_calls  1 send after_model committed',
]
const NAMES = [
  'gen_ai.execute_tool.duration',
  'gen_ai.invoke_agent.tool_calls',
  'meanwhile.dispatch.lag',
  'meanwhile.head_start',
  'meanwhile.tool_calls',
]

test('each call is one record, in a run and with an executor: marked as early by its evidence, with its head start (H28, H37)', async () => {
  const inRun = measuring()
  const agent = createAgent({
    model: scriptedModel([response, respond(say('Done.'))]),
    tools: workshop().tools,
    middleware: [eagerTools()],
    telemetry: inRun.telemetry,
  })
  await played(collect(agent.stream('Go')))
  expect(await inRun.measured(...NAMES)).toEqual(CALLS)

  const alone = measuring()
  const executor = createToolExecutor({ tools: workshop().tools, telemetry: alone.telemetry })
  await played(pushed(executor, response).then(() => executor.finish()))
  expect(await alone.measured(...NAMES)).toEqual(CALLS)
  expect(await alone.measured('gen_ai.client.inference.duration', 'gen_ai.invoke_agent.inference_calls')).toEqual([
    'gen_ai.client.inference.duration 1 0.2',
    'gen_ai.invoke_agent.inference_calls 1 1',
  ])
})

test('a discarded call is a record of an execution, but not a call of the run', async () => {
  const { telemetry, measured } = measuring()
  const agent = createAgent({
    model: scriptedModel([
      respond(call('look', { n: 1, ms: 50 }), call('look', { n: 2, ms: 50 }), wait(100), say('.')),
      respond(say('Done.')),
    ]),
    tools: workshop().tools,
    middleware: [
      {
        name: 'withdraw',
        afterModel: ({ messages }) => {
          const last = messages.at(-1)
          if (last?.role !== 'assistant') return
          const content = last.content.filter((part) => part.type !== 'tool-call' || !part.id.endsWith('1'))
          return { messages: [...messages.slice(0, -1), { ...last, content }] }
        },
      },
      eagerTools(),
    ],
    telemetry,
  })
  await played(agent.run('Go'))
  expect(await measured(...NAMES)).toEqual([
    'gen_ai.execute_tool.duration 1 0.05 look committed',
    'gen_ai.execute_tool.duration 1 0.05 look discarded',
    'gen_ai.invoke_agent.tool_calls 1 1',
    'meanwhile.dispatch.lag 2 0 look closed',
    'meanwhile.head_start 1 0.1 look',
    'meanwhile.tool_calls  1 look early committed',
    'meanwhile.tool_calls  1 look early discarded',
  ])
})
