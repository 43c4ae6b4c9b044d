import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { otlpReceiver } from '@meanwhile/harness/otlp'
import { context, propagation, trace } from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { startTraces } from './traces.ts'

afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable()
})

test('spans arrive at the collector when they are flushed', async () => {
  await using receiver = await otlpReceiver()
  const said: string[] = []
  const traces = await startTraces(receiver.url, (text) => said.push(text))
  trace.getTracer('test').startSpan('work').end()
  await traces.flush()
  expect(receiver.spans.map(({ name }) => name)).toEqual(['work'])
  expect(said).toEqual([])
})

test('a collector that is not there is mentioned once, and fails nothing', async () => {
  const url = await unusedUrl()
  const said: string[] = []
  const traces = await startTraces(url, (text) => said.push(text))
  trace.getTracer('test').startSpan('work').end()
  await traces.flush()
  expect(said).toEqual([expect.stringContaining(`Spans not sent to ${url}: `)])
})

/** Where nobody listens any more. */
async function unusedUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
