import { gzipSync } from 'node:zlib'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AggregationTemporalityPreference, OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtobufMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import { AggregationType, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test } from 'vitest'
import { watchLeaks } from './assert/leaks.ts'
import { WaitTimeoutError } from './errors.ts'
import { decodeSpans } from './otlp-format.ts'
import { pointsOf } from './otlp-points.ts'
import { type OtlpReceiver, type OtlpReceiverOptions, otlpReceiver } from './otlp-receiver.ts'
import { spansOf } from './otlp-spans.ts'
import { spanOutline } from './span-tree.ts'

async function setup(options?: OtlpReceiverOptions) {
  const receiver = await otlpReceiver(options)
  onTestFinished(() => receiver.close())
  return receiver
}

function exporting(receiver: OtlpReceiver, options = {}) {
  const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces`, ...options })
  return new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
}

test('spans from an exporter arrive flat, with parent, kind, times, attributes, events, links and status', async () => {
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

  const { spans } = await receiver.waitFor(({ spans }) => spans.length === 2)
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

test('protobuf gives the same spans and points as JSON, with and without compression (DT2)', async () => {
  const receiver = await setup()
  const traces = `${receiver.url}/v1/traces`
  const exporters = [
    new OTLPTraceExporter({ url: traces }),
    new ProtobufTraceExporter({ url: traces }),
    new ProtobufTraceExporter({ url: traces, compression: CompressionAlgorithm.GZIP }),
  ]
  const spanProcessors = exporters.map((exporter) => new BatchSpanProcessor({ exporter }))
  const tracer = new TracerProvider({ spanProcessors }).getTracer('test', '1.2.3')
  const other = tracer.startSpan('other', {}, ROOT_CONTEXT)
  const attributes = { text: 'ä', int: 3, large: 2 ** 40, double: 0.5, yes: true, list: ['x', 'y'], none: [] }
  const links = [{ context: other.spanContext(), attributes: { why: 'a' } }]
  const span = tracer.startSpan('first', { kind: SpanKind.CLIENT, startTime: [11, 1], attributes, links }, ROOT_CONTEXT)
  span.addEvent('happened', { n: 1 }, [12, 0])
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'bad' })
  span.end([13, 7])
  tracer.startSpan('second', {}, trace.setSpan(ROOT_CONTEXT, span)).end()
  for (const processor of spanProcessors) await processor.forceFlush()
  const { spans } = await receiver.waitFor(({ spans }) => spans.length === 6)
  expect(spans.slice(2, 4)).toEqual(spans.slice(0, 2))
  expect(spans.slice(4, 6)).toEqual(spans.slice(0, 2))
  expect(spans[0]).toMatchObject({
    name: 'first',
    start: 11_000_000_001n,
    attributes,
    links: [{ attributes: { why: 'a' } }],
  })

  const metrics = `${receiver.url}/v1/metrics`
  const readers = [
    new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: metrics }) }),
    new PeriodicExportingMetricReader({ exporter: new ProtobufMetricExporter({ url: metrics }) }),
  ]
  const provider = new MeterProvider({ readers })
  onTestFinished(() => provider.shutdown())
  const meter = provider.getMeter('test')
  meter.createCounter('tokens').add(3, { model: 'a' })
  meter.createGauge('load').record(0.5)
  meter.createHistogram('duration', { unit: 's' }).record(0.25)
  for (const reader of readers) await reader.forceFlush()
  const { points } = await receiver.waitFor((received) => received.points.length === 6)
  const timeless = (from: number, to: number) => points.slice(from, to).map(({ start, time, ...point }) => point)
  expect(timeless(3, 6)).toEqual(timeless(0, 3))
})

test('spans with an id that is not valid are left out and counted, in both formats; the others count (DT2)', async () => {
  const receiver = await setup()
  const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'B7AD6B7169203331' }
  const wrong = [{ traceId: 'x' }, { spanId: '0000000000000000' }, { spanId: `${ids.spanId}00` }]
  const spans = [{}, ...wrong].map((change) => ({ ...ids, name: 'a', ...change }))
  const post = async (type: string, body: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${receiver.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    return [response.status, response.headers.get('content-type'), Buffer.from(await response.arrayBuffer())]
  }
  const errorMessage = 'the id of a span or of its trace is not valid'
  const [status, type, json] = await post(
    'application/json; charset=utf-8',
    JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  )
  expect([status, type, JSON.parse(String(json))]).toEqual([
    200,
    'application/json',
    { partialSuccess: { rejectedSpans: '3', errorMessage } },
  ])
  // resource_spans { scope_spans { spans { trace_id: one byte } } }
  const one = Uint8Array.of(0x0a, 7, 0x12, 5, 0x12, 3, 0x0a, 1, 7)
  const partial = Buffer.from([0x0a, 4 + errorMessage.length, 0x08, 1, 0x12, errorMessage.length])
  expect(await post('application/x-protobuf', one)).toEqual([
    200,
    'application/x-protobuf',
    Buffer.concat([partial, Buffer.from(errorMessage)]),
  ])
  expect(receiver.spans.map(({ spanId }) => spanId)).toEqual(['b7ad6b7169203331'])
  expect(receiver.spans[0]?.end).toBe(0n)
})

test('attributes have no prototype, and values inside more than 32 lists are left out, in both formats (DT2)', () => {
  const json = (depth: number) => {
    const value = `${'{"arrayValue":{"values":['.repeat(depth)}{"stringValue":"in"}${']}}'.repeat(depth)}`
    const span = JSON.stringify({ ...IDS, attributes: [] }).replace('[]', `[{"key":"__proto__","value":${value}}]`)
    return decodeSpans(Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`), 'application/json')
  }
  const protobuf = (depth: number) => {
    const member = (number: number, bytes: Uint8Array) => {
      const { length } = bytes
      const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
      return Buffer.from([(number << 3) | 2, ...size, ...bytes])
    }
    let value = member(1, Buffer.from('in'))
    for (let n = 0; n < depth; n++) value = member(5, member(1, value))
    const attribute = Buffer.concat([member(1, Buffer.from('__proto__')), member(2, value)])
    const ids = [member(1, Buffer.from(IDS.traceId, 'hex')), member(2, Buffer.from(IDS.spanId, 'hex'))]
    const span = Buffer.concat([...ids, member(9, attribute)])
    return decodeSpans(member(1, member(2, member(2, span))), 'application/x-protobuf')
  }
  const innermost = (value: unknown, depth = 0): unknown =>
    Array.isArray(value) ? innermost(value[0], depth + 1) : [value, depth]
  for (const decoded of [json, protobuf]) {
    const at = (depth: number) => decoded(depth).spans[0]?.attributes ?? {}
    expect(Object.getPrototypeOf(at(1))).toBeNull()
    expect(Object.keys(at(1))).toEqual(['__proto__'])
    const reached = (depth: number) => innermost(Object.values(at(depth))[0])
    expect([reached(32), reached(33), reached(400)]).toEqual([
      ['in', 32],
      ['…', 32],
      ['…', 32],
    ])
  }
})

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', name: 'a' }

test('a body that is neither JSON nor protobuf is refused with a text that states it (DT2)', async () => {
  const { url } = await setup()
  const headers = { 'content-type': 'text/plain' }
  const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body: 'x' })
  expect(response.status).toBe(415)
  expect(await response.json()).toEqual({
    message: 'only application/x-protobuf and application/json are accepted, not text/plain',
  })
})

test('metrics from an exporter arrive as flat points: counters, gauges and histograms, with their attributes', async () => {
  const receiver = await setup()
  const exporter = new OTLPMetricExporter({ url: `${receiver.url}/v1/metrics` })
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  const meter = provider.getMeter('test', '1.2.3')
  const tokens = meter.createCounter('tokens', { unit: '{token}' })
  tokens.add(3, { model: 'a' })
  tokens.add(4, { model: 'a' })
  tokens.add(1.5, { model: 'b' })
  meter.createUpDownCounter('open').add(-2)
  meter.createGauge('load').record(0.5)
  const duration = meter.createHistogram('duration', { unit: 's', advice: { explicitBucketBoundaries: [0.1, 1] } })
  duration.record(0.25, { tool: 'weather' })
  duration.record(1, { tool: 'weather' })
  duration.record(4, { tool: 'weather' })
  await provider.shutdown()

  const { points } = await receiver.waitFor((received) => received.points.length > 0)
  const common = {
    attributes: {},
    unit: '',
    start: expect.any(BigInt),
    time: expect.any(BigInt),
    scope: { name: 'test', version: '1.2.3' },
    resource: expect.objectContaining({ 'telemetry.sdk.language': 'nodejs' }),
  }
  const counted = { ...common, name: 'tokens', unit: '{token}', kind: 'counter', temporality: 'cumulative' }
  expect(points).toEqual([
    { ...counted, attributes: { model: 'a' }, value: 7 },
    { ...counted, attributes: { model: 'b' }, value: 1.5 },
    { ...common, name: 'open', kind: 'up-down-counter', temporality: 'cumulative', value: -2 },
    { ...common, name: 'load', kind: 'gauge', value: 0.5 },
    {
      ...common,
      name: 'duration',
      unit: 's',
      kind: 'histogram',
      attributes: { tool: 'weather' },
      count: 3,
      sum: 5.25,
      min: 0.25,
      max: 4,
      bounds: [0.1, 1],
      counts: [0, 2, 1],
      temporality: 'cumulative',
    },
  ])
})

test('points with delta temporality are marked, and an exponential histogram has no buckets', async () => {
  const receiver = await setup()
  const exporter = new OTLPMetricExporter({
    url: `${receiver.url}/v1/metrics`,
    temporalityPreference: AggregationTemporalityPreference.DELTA,
  })
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter })],
    views: [{ instrumentName: 'duration', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
  })
  const meter = provider.getMeter('test')
  meter.createCounter('tokens').add(3)
  meter.createHistogram('duration').record(0.25)
  meter.createHistogram('duration').record(4)
  await provider.shutdown()
  const [duration, tokens, ...more] = [...receiver.points].sort((a, b) => (a.name < b.name ? -1 : 1))
  expect(more).toEqual([])
  expect(tokens).toMatchObject({ name: 'tokens', temporality: 'delta', value: 3 })
  expect(duration).toMatchObject({
    name: 'duration',
    kind: 'histogram',
    temporality: 'delta',
    count: 2,
    sum: 4.25,
    min: 0.25,
    max: 4,
    bounds: [],
    counts: [],
  })
})

test('requests are kept unchanged, with their status; other paths are refused, invalid JSON is an error', async () => {
  const { url, requests } = await setup()
  const post = async (path: string, body: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body })
    return [response.status, await response.json()]
  }
  expect(await post('/v1/metrics', '{ }')).toEqual([200, {}])
  expect(await post('/v2/traces', '{}')).toEqual([404, { message: '/v2/traces is not served' }])
  expect(await post('/v1/traces', '{')).toEqual([400, { message: expect.stringContaining('not OTLP') }])
  expect(requests).toEqual([
    { path: '/v1/metrics', body: '{ }', status: 200 },
    { path: '/v2/traces', body: '{}', status: 404 },
    { path: '/v1/traces', body: '{', status: 400 },
  ])
})

test('a compressed body is decompressed', async () => {
  const receiver = await setup()
  const provider = exporting(receiver, { compression: 'gzip' })
  provider.getTracer('test').startSpan('only').end()
  await provider.forceFlush()
  expect(receiver.spans.map(({ name }) => name)).toEqual(['only'])
  expect(receiver.requests[0]?.body).toContain('"name":"only"')
})

test('a request beyond the limit is refused, compressed or not, and its body is not kept', async () => {
  const { url, requests } = await setup({ maxBytes: 50 })
  const post = async (body: string, encoding?: 'gzip') => {
    const headers = { 'content-type': 'application/json', ...(encoding && { 'content-encoding': encoding }) }
    const response = await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers,
      body: encoding ? gzipSync(body) : body,
    })
    return [response.status, await response.json()]
  }
  const tooLarge = (left: number) => [413, { message: `the body has more than ${left} bytes, which is the limit` }]
  const [large, fitting] = ['{}'.padEnd(1_000_000), '{}'.padEnd(48)]
  expect(await post(large)).toEqual(tooLarge(50))
  expect(await post(large.slice(0, 1_000), 'gzip')).toEqual(tooLarge(50))
  expect(await post(fitting, 'gzip')).toEqual([200, {}])
  expect(await post('{ }')).toEqual(tooLarge(2))
  expect(await post('{}')).toEqual([200, {}])
  expect(requests.map(({ body, status }) => [body, status])).toEqual([
    [fitting, 200],
    ['{}', 200],
  ])
})

test('requests are refused as the faults define, one by one; an exporter that gets a retry-after retries', async () => {
  const receiver = await setup({ fault: [{ status: 503, retryAfter: 1 }] })
  const provider = exporting(receiver)
  provider.getTracer('test').startSpan('only').end()
  await provider.forceFlush()
  expect(receiver.requests.map(({ status }) => status)).toEqual([503, 200])
  expect(receiver.spans.map(({ name }) => name)).toEqual(['only'])
})

test('a collector that hangs sends no response until it is closed', async () => {
  const receiver = await setup({ fault: 'hang' })
  const provider = exporting(receiver, { timeoutMillis: 500 })
  provider.getTracer('test').startSpan('only').end()
  const flushed = provider.forceFlush().then(
    () => 'sent',
    () => 'not sent',
  )
  const { requests, spans } = await receiver.waitFor((received) => received.requests.length > 0)
  expect(requests).toEqual([{ path: '/v1/traces', body: expect.stringContaining('"name":"only"') }])
  expect(spans).toEqual([])
  await receiver.close()
  expect(await flushed).toBe('not sent')
})

test('closing breaks the connections of requests that hang', async () => {
  const receiver = await setup({ fault: 'hang' })
  const headers = { 'content-type': 'application/json' }
  const hanging = fetch(`${receiver.url}/v1/traces`, { method: 'POST', headers, body: '{}' })
  const failure = hanging.catch((error: unknown) => error)
  await receiver.waitFor(({ requests }) => requests.length === 1)
  await receiver.close()
  expect(await failure).toMatchObject({ message: 'fetch failed' })
})

test('a finished wait leaves nothing: no timer, no listener, no further check', async () => {
  const receiver = await setup()
  const { signal } = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const post = () => fetch(`${receiver.url}/v1/traces`, { method: 'POST', headers, body: '{}' })
  await post()
  const watch = watchLeaks({ signals: [signal], ignore: ['TCPSocketWrap', 'TCPServerWrap'] })
  let looks = 0
  const received = receiver.waitFor(({ requests }) => ++looks > 0 && requests.length === 2, { signal, timeout: 60_000 })
  await post()
  await received
  const then = looks
  await post()
  expect(looks).toBe(then)
  await watch.assertNone()
})

test('waiting for something that does not arrive ends with an error that lists what arrived', async () => {
  const receiver = await setup({ fault: [{ status: 400 }] })
  const provider = exporting(receiver)
  const tracer = provider.getTracer('test')
  const never = () => receiver.waitFor(({ spans }) => spans.length === 3, { timeout: 20 })
  await expect(never()).rejects.toThrow(new WaitTimeoutError('the telemetry', 20, 'nothing'))
  tracer.startSpan('lost').end()
  await provider.forceFlush().catch(() => undefined)
  tracer.startSpan('one').end()
  tracer.startSpan('two').end()
  await provider.forceFlush()
  await expect(never()).rejects.toThrow(
    new WaitTimeoutError('the telemetry', 20, '2 spans (one, two); refused requests: 400'),
  )
})

test('of many spans the first names are listed', async () => {
  const receiver = await setup()
  const provider = exporting(receiver)
  for (let n = 1; n <= 51; n++) provider.getTracer('test').startSpan(`s${n}`).end()
  await provider.forceFlush()
  await expect(receiver.waitFor(() => false, { timeout: 20 })).rejects.toThrow(/51 spans \(s1, s2, .*, s50, …\)$/)
})

test('payloads of any SDK are read: bytes, records, integers as text, and a missing kind', () => {
  const attributes = [
    { key: 'record', value: { kvlistValue: { values: [{ key: 'n', value: { intValue: '7' } }] } } },
    { key: 'bytes', value: { bytesValue: 'AAE=' } },
    { key: 'nothing' },
  ]
  const times = { startTimeUnixNano: '1', endTimeUnixNano: '2' }
  const span = { traceId: 'a', spanId: 'b', parentSpanId: '', name: 'given', kind: 0, attributes, ...times }
  expect(spansOf({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })).toEqual([
    {
      traceId: 'a',
      spanId: 'b',
      name: 'given',
      kind: SpanKind.INTERNAL,
      start: 1n,
      end: 2n,
      attributes: { record: { n: 7 }, bytes: 'AAE=', nothing: undefined },
      events: [],
      links: [],
      status: { code: SpanStatusCode.UNSET },
      scope: { name: '' },
      resource: {},
    },
  ])
  const metric = { name: 'tokens', sum: { dataPoints: [{ asInt: '7' }], isMonotonic: true } }
  expect(pointsOf({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] })).toMatchObject([
    { name: 'tokens', kind: 'counter', value: 7, temporality: 'cumulative' },
  ])
})

test('a predicate that throws rejects, and so does a signal that aborts', async () => {
  const receiver = await setup()
  const waiting = receiver.waitFor(() => {
    throw new TypeError('mine')
  })
  await expect(waiting).rejects.toThrow(new TypeError('mine'))
  const abort = new AbortController()
  const stopped = receiver.waitFor(() => false, { signal: abort.signal })
  abort.abort(new RangeError('enough'))
  await expect(stopped).rejects.toThrow(new RangeError('enough'))
  await expect(receiver.waitFor(() => true, { signal: abort.signal })).rejects.toThrow('enough')
})
