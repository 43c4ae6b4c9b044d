import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { partOf } from './profile.ts'
import { manyDeltas, manySpans } from './subjects.ts'
import { traced } from './traced.ts'
import { untraced } from './untraced.ts'

test.each([
  ['many spans', manySpans()],
  ['many deltas', manyDeltas()],
])('the run with %s has as many as it says', async (_, subject) => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  await subject.runs(2, provider)
  expect(exporter.getFinishedSpans()).toHaveLength(2 * subject.spans)
})

test('with an SDK every span is exported, and costs something, but not a multiple of its bar', async () => {
  const { spanUs, deltaUs, spansPerRun, untracedRunUs } = await traced({ rounds: 3, runs: 60 })
  expect(spansPerRun).toBe(21)
  expect(untracedRunUs).toBeGreaterThan(0)
  expect(spanUs.median).toBeGreaterThan(0)
  expect(spanUs.median).toBeLessThan(80)
  expect(deltaUs.median).toBeLessThan(5)
}, 30_000)

test('without an SDK the profile finds the calls of telemetry, and they are a small part', async () => {
  const { untracedSpanUs, untracedDeltaUs } = await untraced({ rounds: 2, runs: 200 })
  expect(untracedSpanUs.median).toBeGreaterThan(0)
  expect(untracedSpanUs.median).toBeLessThan(20)
  expect(untracedDeltaUs.median).toBeLessThan(1)
}, 30_000)

test('the engine’s own functions are on the account of who called them; collecting garbage is on nobody’s', () => {
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
