import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, asked, Host, told } from '../../test/host.ts'
import type { StepSavings } from '../savings.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()

const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

test('each early call has one execute_tool span, and there is no other span (R8, H28)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider, captureContent: true } })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 20 })
  told(calls, 'b', 'look', { n: 2, fails: true })
  told(calls, 'c', 'look', { n: 3, ms: 100 })
  told(calls, 'd', 'send', { n: 4 })
  await after(50)
  calls.stood()
  const results = ['a', 'b', 'd'].map((id, n) =>
    asked(calls, id, id === 'd' ? 'send' : 'look', [{ n: 1, ms: 20 }, { n: 2, fails: true }, { n: 4 }][n] ?? {}),
  )
  await Promise.all(results)
  await calls.release()
  const spans = exporter.getFinishedSpans().map(({ name, attributes }) => {
    const { 'meanwhile.dispatch.lag': lag, 'meanwhile.dispatch.queued': queued, ...told } = attributes
    return [name, told]
  })
  const of = (id: string, more: object) => [
    'execute_tool look',
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': id,
      'meanwhile.attempt': 1,
      'meanwhile.step.index': 1,
      'meanwhile.dispatch.mode': 'early',
      'meanwhile.dispatch.evidence': 'closed',
      'meanwhile.tool.effect': 'read',
      'meanwhile.head_start': 0.05,
      ...more,
    },
  ]
  expect(spans).toEqual([
    of('a', {
      'gen_ai.tool.call.arguments': '{"n":1,"ms":20}',
      'gen_ai.tool.call.result': '"look 1"',
      'meanwhile.outcome': 'committed',
      'meanwhile.overlap': 0.02,
      'meanwhile.tool.duration': 0.02,
      'meanwhile.commit.lag': 0.03,
    }),
    of('b', {
      'gen_ai.tool.call.arguments': '{"n":2,"fails":true}',
      'meanwhile.outcome': 'failed',
      'meanwhile.overlap': 0,
      'meanwhile.tool.duration': 0,
      'meanwhile.commit.lag': 0.05,
      'error.type': 'Error',
    }),
    of('c', {
      'gen_ai.tool.call.arguments': '{"n":3,"ms":100}',
      'meanwhile.outcome': 'discarded',
      'meanwhile.discard.reason': 'call_withdrawn',
      'meanwhile.overlap': 0.05,
      'meanwhile.tool.duration': 0.05,
    }),
  ])
})

test('a function that ignores its abort releases its slot after the grace time, and its span shows it (R8)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider } })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 5_000, deaf: true })
  await after(10)
  calls.failed()
  void calls.release()
  await after(1_000)
  const [span] = exporter.getFinishedSpans()
  expect(span?.attributes).toMatchObject({
    'meanwhile.outcome': 'abandoned',
    'meanwhile.settled': false,
    'meanwhile.discard.reason': 'stream_error',
  })
  await after(5_000)
  expect(exporter.getFinishedSpans()).toHaveLength(1)
})

test('without an early call there is no span and no timer (R8)', async () => {
  exporter.reset()
  const host = new Host({ telemetry: { tracerProvider } })
  const calls = host.step()
  told(calls, 'a', 'send', { n: 1 })
  await after(10)
  expect(vi.getTimerCount()).toBe(0)
  calls.stood()
  await calls.release()
  expect(exporter.getFinishedSpans()).toEqual([])
})

test('onStep receives the savings of a step, with the host’s own calls counted as one (R13, H34)', async () => {
  const steps: StepSavings[] = []
  const host = new Host({ onStep: (savings) => void steps.push(savings) })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1, ms: 100 })
  told(calls, 'b', 'look', { n: 2, ms: 200 })
  told(calls, 'c', 'send', { n: 3 })
  await after(50)
  calls.stood()
  const results = ['a', 'b'].map((id, n) => asked(calls, id, 'look', { n: n + 1, ms: 100 * (n + 1) }))
  // The host takes 30 ms for the third call.
  await after(150)
  await Promise.all(results)
  await calls.release()
  const call = { tool: 'look', certainMs: 0, startedMs: 0, evidence: 'closed', outcome: 'committed' }
  expect(steps).toEqual([
    {
      step: 1,
      streamMs: 50,
      stoodMs: 50,
      actualMs: 200,
      sequentialMs: 500,
      parallelMs: 250,
      savedMs: 50,
      wastedMs: 0,
      calls: [
        { ...call, callId: 'a', durationMs: 100 },
        { ...call, callId: 'b', durationMs: 200 },
      ],
    },
  ])
})

test('an onStep that throws is a warning (R13)', async () => {
  const host = new Host({
    onStep() {
      throw new Error('no')
    },
  })
  const calls = host.step()
  told(calls, 'a', 'look', { n: 1 })
  await after(10)
  await calls.release()
  expect(host.warnings).toEqual(['observer-failed'])
})
