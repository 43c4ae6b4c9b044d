import { otlpReceiver, type ReceivedSpan, spansOf, spanTree } from '@meanwhile/harness/otlp'
import { expect, test } from 'vitest'
import { spawnBench, startBench } from '../test/bench-process.ts'
import { shownByJaeger } from '../test/jaeger-page.ts'
import { jaegerProblems } from '../test/jaeger-schema.ts'

// The bench in its own process, with collectors that work and collectors that fail.

/** Not paced, so that it takes little time. */
const QUICK = ['--scenario', 'd50', '--mode', 'eager', '--transport', 'msw']

/**
 * How many milliseconds a bench with a dead collector may end after one that sends nothing and runs at the same time, so that both are equally
 * slow on a busy machine. The SDK's default time limits take eight seconds.
 */
const LATE = 6_000

test('the collector and both files receive every span, the same in each', async () => {
  await using receiver = await otlpReceiver()
  await using bench = await startBench(...QUICK, '--runs', '5', '--otlp', receiver.url, '--traces', 'traces.json')
  expect(await bench.ended).toMatchObject({ code: 0, stderr: '' })

  const inFile = spansOf(JSON.parse(await bench.text('traces.otlp.json')))
  const forJaeger = await bench.text('traces.json')
  expect(jaegerProblems(forJaeger)).toEqual([])
  const shown = shownByJaeger(forJaeger)
  expect(sorted(receiver.spans)).toEqual(sorted(inFile))
  expect(shown.flatMap(({ spans }) => spans)).toHaveLength(inFile.length)

  const tree = {
    name: 'invoke_agent bench-d50',
    children: [
      {
        name: 'middleware eager-tools wrapAgent',
        children: [
          { name: 'middleware eager-tools wrapModel', children: [{ name: 'chat scripted' }] },
          { name: 'execute_tool write_file' },
          { name: 'middleware eager-tools wrapModel', children: [{ name: 'chat scripted' }] },
        ],
      },
    ],
  }
  const measured = spanTree(inFile).filter(({ name }) => name !== 'invoke_agent bench-warm-up')
  expect(measured).toEqual(Array.from({ length: 5 }, () => tree))
})

test.each([
  ['is not there', undefined, /^\d+ spans not sent to \S+: .*ECONNREFUSED.*\n$/],
  ['hangs', 'hang', /^\d+ spans not sent to \S+: Request timed out\n$/],
  ['answers 503', { status: 503 }, /^\d+ spans not sent to \S+: .+\n$/],
] as const)('a collector that %s neither fails the run nor delays it, and is reported once', async (_, fault, said) => {
  const receiver = await otlpReceiver({ fault: fault ?? [] })
  if (fault === undefined) await receiver.close()
  try {
    await using alone = await startBench(...QUICK, '--runs', '1')
    await using bench = await startBench(...QUICK, '--runs', '1', '--otlp', receiver.url)
    const [ended, { ms }] = await Promise.all([bench.ended, alone.ended])
    expect(ended).toEqual({ code: 0, stderr: expect.stringMatching(said), ms: expect.any(Number) })
    expect(ended.ms - ms).toBeLessThan(LATE)
    expect(JSON.parse(await bench.text('results.json'))).toHaveProperty('results')
  } finally {
    await receiver.close()
  }
})

test('Ctrl-C sends the spans so far, including cancelled runs, and writes no files', async () => {
  await using receiver = await otlpReceiver()
  // After the first response of this scenario, its run goes on for more than a second.
  const options = ['--wire', 'openai-chat', '--scenario', 'f', '--mode', 'sequential', '--runs', '20']
  const files = ['--otlp', receiver.url, '--traces', 'traces.json', '--json', 'results.json', '--report', 'report.html']
  await using bench = await spawnBench([...options, ...files], { ...process.env, OTEL_BSP_SCHEDULE_DELAY: '50' })
  // As long as the test may take: on a busy machine the bench may need half a minute to start.
  const { spans } = await receiver.waitFor(({ spans }) => isRunning(spans), { timeout: 60_000 })
  expect(outcomes(spans)).not.toContain('cancelled')
  bench.child.kill('SIGINT')
  expect(await bench.ended).toMatchObject({ code: 130, stderr: 'Stopped; nothing was written.\n' })
  expect(outcomes(receiver.spans)).toContain('cancelled')
  await expect(bench.text('traces.json')).rejects.toThrow('ENOENT')
})

test('Ctrl-C does not wait for a collector that hangs', async () => {
  await using receiver = await otlpReceiver({ fault: 'hang' })
  await using alone = await startBench('--scenario', 'b')
  await using bench = await startBench('--scenario', 'b', '--otlp', receiver.url)
  await receiver.waitFor(({ requests }) => requests.length > 0, { timeout: 60_000 })
  for (const { child } of [alone, bench]) child.kill('SIGINT')
  const [ended, { ms }] = await Promise.all([bench.ended, alone.ended])
  expect(ended).toMatchObject({ code: 130 })
  expect(ended.ms - ms).toBeLessThan(LATE)
})

function sorted(spans: readonly ReceivedSpan[]): readonly string[] {
  return spans
    .map((span) => JSON.stringify(span, (_, value) => (typeof value === 'bigint' ? `${value}` : value)))
    .sort()
}

/** Whether the first response of a run has ended, and the run has not. */
function isRunning(spans: readonly ReceivedSpan[]): boolean {
  const ended = new Set(runsIn(spans).map(({ traceId }) => traceId))
  return spans.some(({ name, traceId }) => name.startsWith('chat') && !ended.has(traceId))
}

function runsIn(spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  return spans.filter(({ name }) => name.startsWith('invoke_agent'))
}

function outcomes(spans: readonly ReceivedSpan[]): readonly unknown[] {
  return runsIn(spans).map((span) => span.attributes['meanwhile.outcome'])
}
