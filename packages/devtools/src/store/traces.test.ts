import { expectLinear } from '@meanwhile/tests/growth'
import { expect, test } from 'vitest'
import { recorded } from '../../test/recorded.ts'
import type { Span } from '../span.ts'
import { type News, Traces } from './traces.ts'

test('the oldest trace that has ended leaves first, traces without runs before it, the latest never (DT2)', () => {
  const traces = new Traces({ traces: 2 })
  const told: (readonly string[])[] = []
  traces.watch(({ gone }) => told.push(gone))
  traces.add([opened(chat(1))])
  traces.add([chat(2)])
  traces.add([chat(3)])
  expect(ids(traces)).toEqual([3, 1])
  traces.add([other(4)])
  traces.add([other(5)])
  traces.add([other(6)])
  expect(traces.spansOf(traceId(4))).toEqual([])
  expect(ids(traces)).toEqual([3, 1])
  traces.add([opened(chat(7)), opened(chat(8))])
  expect(ids(traces)).toEqual([8, 7])
  expect([traces.received, traces.evicted]).toEqual([8, 4])
  expect(told.flat()).toEqual([2, 3, 1].map((n) => `${traceId(n)}-${'1'.repeat(16)}`))
})

test('the estimated bytes of all spans stay within their bound, and a span that is sent again counts once (DT2)', () => {
  const traces = new Traces({ bytes: 10_000 })
  const large = (n: number) => ({ ...chat(n), attributes: { ...chat(n).attributes, text: 'x'.repeat(1_000) } })
  for (let n = 1; n <= 1_000; n++) {
    traces.add([large(n)])
    traces.add([large(n)])
    expect(traces.bytes).toBeLessThanOrEqual(10_000)
  }
  expect(ids(traces)).toEqual([1_000, 999, 998, 997])
})

test('of a trace with too many spans the first are kept, and the others counted (DT2)', () => {
  const traces = new Traces({ spans: 3 })
  traces.add([1, 2, 3, 4, 5].map((n) => ({ ...chat(1), spanId: String(n).padStart(16, '0') })))
  expect(traces.spansOf(traceId(1))).toHaveLength(3)
  expect(traces.dropped(traceId(1))).toBe(2)
  traces.add([{ ...chat(1), spanId: '3'.padStart(16, '0'), name: 'again' }])
  expect(traces.spansOf(traceId(1))[2]?.name).toBe('again')
})

test('a trace that by itself reaches the bound of bytes keeps no further spans, and they are counted (DT2)', () => {
  const traces = new Traces({ bytes: 10_000 })
  const attributes = { ...chat(1).attributes, text: 'x'.repeat(1_000) }
  for (let n = 1; n <= 100; n++) traces.add([{ ...chat(1), spanId: String(n).padStart(16, '0'), attributes }])
  expect(traces.bytes).toBeLessThan(13_000)
  expect(traces.spansOf(traceId(1)).length + traces.dropped(traceId(1))).toBe(100)
})

test.each([
  ['without runs', 4_000, (n: number) => other(n)],
  // 500 are kept. With fewer traces, four times as many would be more than four times the evictions.
  ['with runs', 2_500, (n: number) => chat(n)],
] as const)(
  'of very many traces %s that arrive at once the latest are kept, in linear time (DT2)',
  async (_, few, spanOf) => {
    const spans = Array.from({ length: 4 * few }, (_, n) => spanOf(n + 1))
    await expectLinear(few, (count) => {
      const traces = new Traces()
      traces.add(spans.slice(0, count))
      const kept = spans.slice(0, count).filter((span) => traces.span(span.traceId, span.spanId) !== undefined)
      expect(kept).toEqual(spans.slice(count - 500, count))
      expect(traces.evicted).toBe(count - 500)
    })
  },
)

test('an open span is replaced by its end, and never the other way round; each change gives another version (DT1)', () => {
  const traces = new Traces()
  const news: News[] = []
  const unwatch = traces.watch((one) => news.push(one))
  traces.add([opened(chat(1))])
  const [open] = traces.runsOf(traceId(1))
  const version = traces.version(traceId(1))
  traces.add([chat(1)])
  expect(traces.version(traceId(1))).toBeGreaterThan(version)
  traces.add([opened(chat(1))])
  expect([open?.state, traces.runsOf(traceId(1))[0]?.state]).toEqual(['running', 'completed'])
  expect(news.map(({ changed }) => [...changed])).toEqual([[traceId(1)], [traceId(1)]])
  unwatch()
  traces.add([chat(2)])
  expect(news).toHaveLength(2)
})

test('a run without news for 30 minutes is lost, and so is one whose program has been started again (DT6)', () => {
  let now = 0
  const traces = new Traces({}, () => now)
  const sender = (process: string, connected: boolean) => ({ process, isConnected: () => connected })
  const state = (n: number) => traces.runsOf(traceId(n))[0]?.state
  traces.add([opened(chat(1))])
  now = 31 * 60_000
  expect(state(1)).toBe('lost')
  traces.add([opened(chat(2))], sender('a', false))
  traces.add([opened(chat(3))], sender('b', true))
  expect([state(2), state(3)]).toEqual(['lost', 'running'])
  traces.add([opened(chat(4))], sender('c', true))
  expect([state(3), state(4)]).toEqual(['running', 'running'])
  traces.add([chat(2)])
  expect(state(2)).toBe('completed')
})

test('runs of real programs are listed, latest first (DT3)', () => {
  const traces = new Traces()
  traces.add(recorded('ai-sdk'))
  traces.add(recorded('trip'))
  traces.add(recorded('langchain'))
  expect(traces.runs().map(({ dialect }) => dialect)).toEqual(['meanwhile', 'openinference', 'ai-sdk'])
})

const traceId = (n: number): string => String(n).padStart(32, '0')
const ids = (traces: Traces): number[] => traces.runs().map(({ key }) => Number(key.slice(0, 32)))

function other(n: number): Span {
  return {
    traceId: traceId(n),
    spanId: '1'.repeat(16),
    name: 'span',
    kind: 0,
    start: n,
    end: n + 1,
    attributes: {},
    events: [],
    links: [],
    status: 0,
    scope: 'test',
    scopeVersion: '',
    resource: { 'service.name': 'mine' },
  }
}

const chat = (n: number): Span => ({ ...other(n), attributes: { 'gen_ai.operation.name': 'chat' } })

function opened({ end, ...span }: Span): Span {
  return span
}
