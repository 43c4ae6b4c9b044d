import type { ReceivedSpan } from '@meanwhile/harness/otlp'
import { ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { shownByJaeger } from '../test/jaeger-page.ts'
import { jaegerProblems } from '../test/jaeger-schema.ts'
import { jaegerFileOf } from './jaeger.ts'
import { otlpPathOf, traceFiles } from './trace-files.ts'

function setup() {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'trip', 'service.version': '2' }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  })
  const otlp = () => new TextDecoder().decode(JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans()))
  return { tracer: provider.getTracer('@meanwhile/core', '0.1.0'), otlp }
}

const inside = (span: { spanContext(): SpanContext }) => trace.setSpanContext(ROOT_CONTEXT, span.spanContext())

test('Jaeger’s page shows a trace unchanged: tree, times, kinds, links, errors, events, and attributes of every type', () => {
  const { tracer, otlp } = setup()
  const run = tracer.startSpan('run', { startTime: [10, 0] }, ROOT_CONTEXT)
  const chat = tracer.startSpan('chat', { startTime: [10, 1_500], kind: SpanKind.CLIENT }, inside(run))
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    text: 'a',
    int: 3,
    double: 0.5,
    yes: true,
    none: false,
    list: ['x', 'y'],
  }
  const links = [{ context: chat.spanContext() }]
  const tool = tracer.startSpan('tool', { startTime: [10, 2_000_000], attributes, links }, inside(run))
  tool.addEvent('exception', { 'exception.type': 'TypeError' }, [10, 3_000_999])
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'bad' })
  tool.end([10, 4_000_000])
  chat.end([10, 5_000_499])
  run.end([11, 0])

  const [file] = traceFiles('traces.json', otlp())
  expect(jaegerProblems(file?.text ?? '')).toEqual([])
  const common = { service: 'trip', error: false, links: [], events: [], warnings: [] }
  const scope = { 'otel.scope.name': '@meanwhile/core', 'otel.scope.version': '0.1.0' }
  expect(shownByJaeger(file?.text ?? '')).toEqual([
    {
      traceID: run.spanContext().traceId,
      // Microseconds since the epoch.
      start: 10_000_000,
      end: 11_000_000,
      orphans: 0,
      spans: [
        {
          ...common,
          name: 'run',
          depth: 0,
          start: 10_000_000,
          end: 11_000_000,
          kind: 'internal',
          attributes: { ...scope, 'span.kind': 'internal' },
        },
        {
          ...common,
          name: 'chat',
          depth: 1,
          start: 10_000_001,
          end: 10_005_000,
          kind: 'client',
          attributes: { ...scope, 'span.kind': 'client' },
        },
        {
          ...common,
          name: 'tool',
          depth: 1,
          start: 10_002_000,
          end: 10_004_000,
          kind: 'internal',
          error: true,
          links: [{ traceID: run.spanContext().traceId, spanID: chat.spanContext().spanId }],
          events: [
            {
              name: 'exception',
              time: 10_003_000,
              attributes: { event: 'exception', 'exception.type': 'TypeError' },
            },
          ],
          attributes: {
            ...scope,
            ...attributes,
            list: '["x","y"]',
            'span.kind': 'internal',
            'otel.status_code': 'ERROR',
            'otel.status_description': 'bad',
            error: true,
          },
        },
      ],
    },
  ])
})

test('traces are in the order in which they began; a link to another trace does not make a child', () => {
  const { tracer, otlp } = setup()
  const first = tracer.startSpan('first', { startTime: [1, 0] }, ROOT_CONTEXT)
  const resumed = tracer.startSpan(
    'resumed',
    { startTime: [3, 0], links: [{ context: first.spanContext() }] },
    ROOT_CONTEXT,
  )
  resumed.end([4, 0])
  first.end([5, 0])
  const [file] = traceFiles('traces.json', otlp())
  const shown = shownByJaeger(file?.text ?? '')
  expect(shown.map(({ spans }) => spans.map(({ name, depth }) => [name, depth]))).toEqual([
    [['first', 0]],
    [['resumed', 0]],
  ])
  expect(shown[1]?.spans[0]?.links).toEqual([
    { traceID: first.spanContext().traceId, spanID: first.spanContext().spanId },
  ])
})

test('a link to the parent is not a second reference; a span with status OK shows it; a service without a name gets one', () => {
  const span = (name: string, more: Partial<ReceivedSpan>): ReceivedSpan => ({
    traceId: 't',
    spanId: name,
    name,
    kind: 0,
    start: 1_000n,
    end: 2_000n,
    attributes: {},
    events: [],
    links: [],
    status: { code: 0 },
    scope: { name: '' },
    resource: {},
    ...more,
  })
  const links = [{ traceId: 't', spanId: 'run', attributes: {} }]
  const { data } = jaegerFileOf([span('run', {}), span('chat', { parentSpanId: 'run', links, status: { code: 1 } })])
  expect(data).toEqual([
    {
      traceID: 't',
      processes: { p1: { serviceName: 'unknown-service', tags: [] } },
      warnings: null,
      spans: [
        expect.objectContaining({ spanID: 'run', references: [], processID: 'p1' }),
        expect.objectContaining({
          spanID: 'chat',
          references: [{ refType: 'CHILD_OF', traceID: 't', spanID: 'run' }],
          tags: [
            { key: 'span.kind', type: 'string', value: 'internal' },
            { key: 'otel.status_code', type: 'string', value: 'OK' },
          ],
        }),
      ],
    },
  ])
})

test('the OTLP file is in the same folder, and contains what a collector would receive', () => {
  expect(['traces.json', 'a/b.json', 'spans'].map(otlpPathOf)).toEqual([
    'traces.otlp.json',
    'a/b.otlp.json',
    'spans.otlp.json',
  ])
  const { tracer, otlp } = setup()
  tracer.startSpan('run', {}, ROOT_CONTEXT).end()
  const [, file] = traceFiles('x/traces.json', otlp())
  expect(file?.path).toBe('x/traces.otlp.json')
  expect(JSON.parse(file?.text ?? '')).toEqual(JSON.parse(otlp()))
})

test('the checks of the page find data that it cannot show', () => {
  const { tracer, otlp } = setup()
  tracer.startSpan('run', { startTime: [1, 0] }, ROOT_CONTEXT).end([2, 0])
  const text = traceFiles('traces.json', otlp())[0]?.text ?? ''
  for (const [part, instead, problem] of [
    ['{"data":[', '{"traces":[', 'no list data'],
    ['"traceID":"', '"id":"', 'a trace without traceID'],
    ['"startTime":1000000', '"startTime":0', 'a span without startTime'],
    ['"startTime":1000000', '"startTime":1000000.5', 'startTime is not an integer'],
    ['"processID":"p1"', '"processID":"p2"', 'no process p2'],
    ['"value":"0.1.0"', '"value":["0.1.0"]', 'the tag otel.scope.version is not a plain value'],
  ] as const) {
    expect(text).toContain(part)
    expect(() => shownByJaeger(text.replace(part, instead))).toThrow(problem)
  }
})

test('the schema of the JSON from Jaeger’s query service finds deviations from it', () => {
  const { tracer, otlp } = setup()
  const run = tracer.startSpan('run', { startTime: [1, 0], attributes: { early: 2 } }, ROOT_CONTEXT)
  tracer.startSpan('chat', { startTime: [1, 500_000] }, inside(run)).end([2, 0])
  run.end([2, 0])
  const text = traceFiles('traces.json', otlp())[0]?.text ?? ''
  expect(jaegerProblems(text)).toEqual([])
  const { traceId, spanId } = run.spanContext()
  for (const [part, instead, place] of [
    ['{"data":[', '{"traces":[', 'data'],
    [`"traceID":"${traceId}"`, `"traceID":"${traceId.toUpperCase()}x"`, 'data.0.traceID'],
    [`"spanID":"${spanId}"`, '"spanID":"1"', 'data.0.spans.0.spanID'],
    ['"startTime":1000000', '"startTime":1000000.5', 'data.0.spans.0.startTime'],
    ['"duration":1000000', '"duration":"1s"', 'data.0.spans.0.duration'],
    ['"refType":"CHILD_OF"', '"refType":"PARENT"', 'data.0.spans.1.references.0.refType'],
    ['"type":"int64","value":2', '"type":"int64","value":2.5', 'data.0.spans.0.tags.2'],
    ['"type":"int64"', '"type":"int"', 'data.0.spans.0.tags.2'],
    ['"processID"', '"process"', 'data.0.spans.0.processID'],
    ['"serviceName":"trip"', '"name":"trip"', 'data.0.processes.p1.serviceName'],
  ] as const) {
    expect(text).toContain(part)
    expect(jaegerProblems(text.replace(part, instead))).toContain(place)
  }
})
