import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test } from 'vitest'
import { WaitTimeoutError } from './errors.ts'
import { type OtlpReceiver, otlpReceiver } from './otlp-receiver.ts'
import { spanOutline } from './span-tree.ts'

async function setup() {
  const receiver = await otlpReceiver()
  onTestFinished(() => receiver.close())
  return receiver
}

function exporting(receiver: OtlpReceiver) {
  const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` })
  return new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
}

test('spans an exporter sends arrive flat, with parent, kind, times, attributes, events, links and status', async () => {
  const receiver = await setup()
  const provider = exporting(receiver)
  const tracer = provider.getTracer('test', '1.2.3')
  const other = tracer.startSpan('other', {}, ROOT_CONTEXT)
  const parent = tracer.startSpan('parent', { kind: SpanKind.CLIENT, startTime: [10, 5] }, ROOT_CONTEXT)
  const child = tracer.startSpan(
    'child',
    {
      startTime: [11, 0],
      attributes: { text: 'a', int: 3, double: 0.5, yes: true, list: ['x', 'y'] },
      links: [{ context: other.spanContext() }],
    },
    trace.setSpan(ROOT_CONTEXT, parent),
  )
  child.addEvent('happened', { n: 1 }, [12, 0])
  child.setStatus({ code: SpanStatusCode.ERROR, message: 'bad' })
  child.end([13, 7])
  parent.end([14, 0])
  await provider.forceFlush()

  const spans = await receiver.waitFor((all) => all.length === 2)
  expect(spans).toEqual([
    {
      traceId: parent.spanContext().traceId,
      spanId: child.spanContext().spanId,
      parentSpanId: parent.spanContext().spanId,
      name: 'child',
      kind: SpanKind.INTERNAL,
      start: 11_000_000_000n,
      end: 13_000_000_007n,
      attributes: { text: 'a', int: 3, double: 0.5, yes: true, list: ['x', 'y'] },
      events: [{ name: 'happened', time: 12_000_000_000n, attributes: { n: 1 } }],
      links: [{ traceId: other.spanContext().traceId, spanId: other.spanContext().spanId, attributes: {} }],
      status: { code: SpanStatusCode.ERROR, message: 'bad' },
      scope: { name: 'test', version: '1.2.3' },
      resource: expect.any(Object),
    },
    expect.objectContaining({ name: 'parent', kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } }),
  ])
  expect(spans[1]).not.toHaveProperty('parentSpanId')
  expect(spanOutline(spans)).toBe('parent\n  child ERROR bad')
})

test('what is not JSON is refused with a text that says so', async () => {
  const { url } = await setup()
  const headers = { 'content-type': 'application/x-protobuf' }
  const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body: 'x' })
  expect(response.status).toBe(415)
  expect(await response.json()).toEqual({
    message: 'only application/json is taken (protocol http/json), not application/x-protobuf',
  })
})

test('metrics are taken, other paths are not served, bad JSON is an error', async () => {
  const { url } = await setup()
  const post = (path: string, body: string) =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const metrics = await post('/v1/metrics', '{}')
  expect([metrics.status, await metrics.json()]).toEqual([200, {}])
  expect((await post('/v2/traces', '{}')).status).toBe(404)
  expect((await post('/v1/traces', '{')).status).toBe(400)
})

test('waiting for spans that do not come ends with an error that names what came', async () => {
  const receiver = await setup()
  const provider = exporting(receiver)
  provider.getTracer('test').startSpan('only').end()
  await provider.forceFlush()
  const waiting = receiver.waitFor((spans) => spans.length === 2, { timeout: 20 })
  await expect(waiting).rejects.toThrow(new WaitTimeoutError('the spans', 20, 'only'))
})

test('a predicate that throws rejects', async () => {
  const receiver = await setup()
  const waiting = receiver.waitFor(() => {
    throw new TypeError('mine')
  })
  await expect(waiting).rejects.toThrow(new TypeError('mine'))
})
