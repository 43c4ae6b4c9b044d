import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { otlpReceiver, spansOf } from '@meanwhile/harness/otlp'
import { context, propagation, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startTraces } from './traces.ts'

// On a busy machine a collector in the same process may need more than the second that the bench gives it.
beforeEach(() => void vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '60000'))

afterEach(() => {
  vi.unstubAllEnvs()
  for (const api of [trace, context, propagation]) api.disable()
})

function spans(count: number): void {
  const tracer = trace.getTracer('test')
  for (let i = 0; i < count; i++) tracer.startSpan(`work ${i}`).end()
}

test('the collector receives all of 5,000 spans in one burst', async () => {
  await using receiver = await otlpReceiver()
  const said: string[] = []
  const traces = await startTraces({ otlp: receiver.url, say: (text) => said.push(text) })
  spans(5_000)
  await traces.stop()
  expect(new Set(receiver.spans.map(({ name }) => name)).size).toBe(5_000)
  expect(receiver.spans).toHaveLength(5_000)
  expect(said).toEqual([])
})

test('all of 5,000 spans in one burst are kept, with a collector and without', async () => {
  await using receiver = await otlpReceiver()
  for (const otlp of [undefined, receiver.url]) {
    const traces = await startTraces({ otlp, keep: true, say: () => expect.unreachable() })
    spans(5_000)
    await traces.stop()
    expect(spansOf(JSON.parse(traces.kept()))).toHaveLength(5_000)
  }
  expect(receiver.spans).toHaveLength(5_000)
})

test('spans after the stop are not traced', async () => {
  await using receiver = await otlpReceiver()
  const traces = await startTraces({ otlp: receiver.url, say: () => expect.unreachable() })
  await traces.stop()
  expect(trace.getTracer('test').startSpan('later').isRecording()).toBe(false)
})

test('an unreachable collector is reported once, and fails nothing', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', undefined)
  const url = await unusedUrl()
  const said: string[] = []
  const traces = await startTraces({ otlp: url, say: (text) => said.push(text) })
  spans(10_000)
  await traces.stop()
  expect(said).toEqual([expect.stringMatching(`^10,000 spans not sent to ${url}: .*ECONNREFUSED`)])
})

test('if a collector accepts some spans and refuses others, both are counted', async () => {
  await using receiver = await otlpReceiver({ fault: [{ status: 400 }] })
  const said: string[] = []
  const traces = await startTraces({ otlp: receiver.url, say: (text) => said.push(text) })
  spans(5_000)
  await receiver.waitFor(({ requests }) => requests.length === 1, { timeout: 60_000 })
  await traces.stop()
  const lost = 5_000 - receiver.spans.length
  expect(lost).toBeGreaterThan(0)
  expect(said).toEqual([`${lost.toLocaleString('en')} of 5,000 spans not sent to ${receiver.url}: Bad Request`])
})

/** An address at which no server listens. */
async function unusedUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
