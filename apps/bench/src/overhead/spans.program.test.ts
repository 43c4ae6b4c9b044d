import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { partOf } from './profile.ts'
import { shares } from './share.ts'
import { SpanCalls } from './span-calls.ts'
import { costOf, spanCost } from './span-cost.ts'
import { manyDeltas, manySpans } from './subjects.ts'

test.each([
  ['many spans', manySpans()],
  ['many deltas', manyDeltas()],
])('the run with %s has exactly the stated number of spans', async (_, subject) => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  await subject.runs(2, provider)
  expect(exporter.getFinishedSpans()).toHaveLength(2 * subject.spans)
})

test('a run’s calls of the SDK are repeated: the same spans, with the same parents', async () => {
  const calls = new SpanCalls()
  await manySpans().runs(1, calls.provider)
  const [first, again] = await Promise.all([
    traced((provider) => manySpans().runs(1, provider)),
    traced(async (provider) => calls.repeat(provider.getTracer('again'))),
  ])
  expect(again).toEqual(first)
  expect(again).toHaveLength(39)
})

test('the time that an SDK adds is computed per round: in total, and for the SDK’s own part', () => {
  const rounds = [100, 200, 300].map((untraced) => ({ untraced, traced: untraced + 40, repeated: untraced + 10 }))
  const spread = (median: number) => ({ median, low: median, high: median })
  expect(costOf(rounds, 10)).toMatchObject({
    spansPerRun: 10,
    perSpan: spread(4),
    sdkAlone: spread(1),
    without: { median: 200 },
  })
})

test('a run is measured with an SDK and without, each in its own process, and no span is lost', async () => {
  const signal = new AbortController().signal
  const options = { signal, execArgv: ['--conditions=@meanwhile/source'], rounds: 2, runs: 10, warmUp: 10 }
  const { spansPerRun, without, perSpan, sdkAlone } = await spanCost(options)
  expect(spansPerRun).toBe(39)
  expect(without.median).toBeGreaterThan(0)
  expect(perSpan.median).toBeLessThan(without.median)
  expect(sdkAlone.median).toBeLessThan(without.median)
  await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('ProcessWrap')
})

test('the signal stops the measurement of a run and its processes', async () => {
  const stop = new AbortController()
  const measured = spanCost({ signal: stop.signal, execArgv: ['--conditions=@meanwhile/source'], warmUp: 1e9 })
  setTimeout(() => stop.abort(new Error('enough')), 500)
  await expect(measured).rejects.toThrow('a process that makes runs has ended')
  await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('ProcessWrap')
})

test('a profile finds the cost of spans and deltas; with an SDK spans cost more, and neither exceeds its bar several times', async () => {
  const options = { rounds: 3, runs: 30, warmUps: 1 }
  const without = await shares({ sdk: false, ...options })
  const traced = await shares({ sdk: true, ...options })
  expect(without.perSpan.median).toBeGreaterThan(0)
  expect(without.perSpan.median).toBeLessThan(20)
  expect(without.perDelta.median).toBeLessThan(1)
  expect(traced.perSpan.median).toBeGreaterThan(without.perSpan.median)
  expect(traced.perSpan.median).toBeLessThan(200)
  expect(traced.perDelta.median).toBeLessThan(5)
})

test('the time of the engine’s own functions counts for their callers; garbage collection counts for no function', () => {
  const frame = (functionName: string, url = '') => ({
    functionName,
    url,
    scriptId: '0',
    lineNumber: 0,
    columnNumber: 0,
  })
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(root)'), children: [2, 3, 7] },
      { id: 2, callFrame: frame('(garbage collector)') },
      { id: 3, callFrame: frame('run', 'core/loop.ts'), children: [4, 6] },
      { id: 4, callFrame: frame('open', 'core/telemetry/spans.ts'), children: [5] },
      { id: 5, callFrame: frame('entries') },
      { id: 6, callFrame: frame('push') },
      { id: 7, callFrame: frame('(idle)') },
    ],
    startTime: 0,
    endTime: 1_000,
    samples: [2, 3, 4, 5, 6, 7, 4],
    timeDeltas: [100, 50, 10, 20, 10, 500, 10],
  }
  expect(partOf(profile, ({ url }) => url.includes('telemetry'))).toBe(40 / 100)
  expect(partOf(profile, ({ url }) => url.includes('loop'))).toBe(60 / 100)
})

/** Each span as it ended, without what differs in every run: ids and times. */
async function traced(work: (provider: TracerProvider) => Promise<void>): Promise<unknown> {
  const exporter = new InMemorySpanExporter()
  await work(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  const spans = exporter.getFinishedSpans()
  const nameOf = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name
  return spans.map(({ name, kind, status, links, parentSpanContext, attributes }) => ({
    name,
    kind,
    status,
    links: links.length,
    parent: nameOf(parentSpanContext?.spanId),
    attributes: Object.entries(attributes).map(([name, value]) =>
      typeof value === 'number' || name.endsWith('run.id') ? name : [name, value],
    ),
  }))
}
