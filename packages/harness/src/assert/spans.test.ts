import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { assertSpanTree } from './span-tree.ts'
import { watchSpans } from './span-watch.ts'
import {
  assertChildOf,
  assertLinked,
  assertNoContent,
  assertNoOverlap,
  assertNotSent,
  assertOverlap,
  spanNamed,
} from './spans.ts'

function setup() {
  const exporter = new InMemorySpanExporter()
  const watch = watchSpans()
  const provider = new TracerProvider({ spanProcessors: [watch, new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const span = (name: string, start: number, options = {}, parent = ROOT_CONTEXT) =>
    tracer.startSpan(name, { startTime: [start, 0], ...options }, parent)
  const finished = (name: string) => spanNamed(exporter.getFinishedSpans(), name)
  return { exporter, watch, span, finished }
}

test('a span is found by its name; if there is none, or more than one, the error lists all names', () => {
  const { exporter, span, finished } = setup()
  expect(() => finished('chat')).toThrow('there is no span named chat; the spans are: none')
  span('chat', 1).end()
  expect(finished('chat')).toBe(exporter.getFinishedSpans()[0])
  span('chat', 2).end()
  expect(() => finished('tool')).toThrow('there is no span named tool; the spans are: chat, chat')
  expect(() => finished('chat')).toThrow('there are 2 spans named chat; the spans are: chat, chat')
})

test('a whole tree is compared with its outline; the error shows both, line by line', () => {
  const { exporter, span } = setup()
  const run = span('run', 1)
  const inRun = trace.setSpan(ROOT_CONTEXT, run)
  span('chat', 2, { attributes: { model: 'm' } }, inRun).end()
  const weather = span('weather', 3, {}, inRun)
  weather.setStatus({ code: SpanStatusCode.ERROR })
  weather.end()
  run.end()
  const spans = exporter.getFinishedSpans()
  assertSpanTree(
    spans,
    `
      run
        chat {"model":"m"}
        weather ERROR
    `,
    { attributes: ['model'] },
  )
  expect(() => assertSpanTree(spans, 'run\n  plan\n  chat\n    weather ERROR')).toThrow(
    expect.objectContaining({
      name: 'SpanError',
      message: [
        'the span tree differs (- expected, + actual):',
        '  run',
        '-   plan',
        '    chat',
        '-     weather ERROR',
        '+   weather ERROR',
      ].join('\n'),
    }),
  )
  expect(() => assertSpanTree([], 'run')).toThrow('(- expected, + actual):\n- run')
})

test('spans that are ended once pass', () => {
  const { watch, span, exporter } = setup()
  span('chat', 1).end()
  watch.assertEndedOnce()
  expect(exporter.getFinishedSpans()).toHaveLength(1)
})

test('spans that are never ended, or twice, are named', () => {
  const { watch, span } = setup()
  span('open', 1)
  const twice = span('twice', 1)
  twice.end()
  twice.end()
  span('chat', 1).end()
  expect(() => watch.assertEndedOnce()).toThrow(
    expect.objectContaining({
      name: 'SpanError',
      message: 'these of 3 spans were not ended exactly once: open never, twice 2 times',
    }),
  )
})

test('a content attribute is found', () => {
  const { span, exporter } = setup()
  span('chat', 1, { attributes: { 'gen_ai.input.messages': '[]' } }).end()
  expect(() => assertNoContent(exporter.getFinishedSpans())).toThrow(
    'span chat has the attribute gen_ai.input.messages',
  )
})

test.for(['name', 'attribute', 'status', 'event', 'event name'] as const)(
  'a forbidden text is found in the %s',
  (place) => {
    const { span, exporter } = setup()
    const text = 'the "secret"'
    const chat = span(place === 'name' ? `tool ${text}` : 'tool', 1)
    if (place === 'attribute') chat.setAttribute('a', [`x ${text}`])
    if (place === 'status') chat.setStatus({ code: SpanStatusCode.ERROR, message: text })
    if (place === 'event') chat.addEvent('e', { a: text })
    if (place === 'event name') chat.addEvent(text)
    chat.end()
    assertNoContent(exporter.getFinishedSpans(), ['another'])
    expect(() => assertNoContent(exporter.getFinishedSpans(), [text])).toThrow('contains the text "the \\"secret\\""')
  },
)

test('received spans are searched, too', () => {
  const received = (more: object) => [
    { name: 'tool', attributes: {}, status: { code: 0 }, start: 1n, end: 2n, events: [], links: [], ...more },
  ]
  const event = { name: 'e', time: 1n, attributes: { a: 'x secret' } }
  const link = { traceId: 't', spanId: 's', attributes: { a: ['secret'] } }
  assertNoContent(received({ events: [event], links: [link] }), ['another'])
  expect(() => assertNoContent(received({ events: [event] }), ['secret'])).toThrow('contains the text "secret"')
  expect(() => assertNoContent(received({ links: [link] }), ['secret'])).toThrow('contains the text "secret"')
})

test('the message of an exception is content, too', () => {
  const { span, exporter } = setup()
  const chat = span('chat', 1)
  chat.recordException(new TypeError('Rome'))
  chat.end()
  expect(() => assertNoContent(exporter.getFinishedSpans())).toThrow('span chat has the attribute exception.message')
})

test('a text that must not be sent is found anywhere in a request, and shown with the surrounding text', () => {
  const body = JSON.stringify({ resourceSpans: [{ resource: { attributes: [{ key: 'a', value: 'my "secret"' }] } }] })
  const requests = [
    { path: '/v1/metrics', body: '{}' },
    { path: '/v1/traces', body },
  ]
  assertNotSent(requests, ['another', 'nothing of this'])
  expect(() => assertNotSent(requests, ['another', 'my "secret"'])).toThrow(
    'the request to /v1/traces contains the text "my \\"secret\\"": …{"resourceSpans"',
  )
})

test('two spans overlap, or one came after the other', () => {
  const { span, finished } = setup()
  span('chat', 1).end([3, 0])
  span('early', 2).end([4, 0])
  span('late', 3).end([4, 0])
  assertOverlap(finished('chat'), finished('early'))
  assertOverlap(finished('early'), finished('chat'))
  assertNoOverlap(finished('late'), finished('chat'))
  expect(() => assertNoOverlap(finished('early'), finished('chat'))).toThrow(
    'spans chat and early were both open for 1000 ms',
  )
  expect(() => assertOverlap(finished('late'), finished('chat'))).toThrow('span late started 0 ms after chat had ended')
  span('within', 2).end([2, 500_000_000])
  expect(() => assertNoOverlap(finished('chat'), finished('within'))).toThrow(
    'spans chat and within were both open for 500 ms',
  )
  const [a, b] = [
    { name: 'a', attributes: {}, status: { code: 0 }, start: 0n, end: 1_000_000n },
    { name: 'b', attributes: {}, status: { code: 0 }, start: 3_500_000n, end: 4_000_000n },
  ]
  expect(() => assertOverlap(a, b)).toThrow('span b started 2.5 ms after a had ended')
})

test('a child is distinguished from a root, a grandchild, and a span of another trace', () => {
  const { span, finished } = setup()
  const run = span('run', 1)
  const chat = span('chat', 2, {}, trace.setSpan(ROOT_CONTEXT, run))
  const tool = span('tool', 3, {}, trace.setSpan(ROOT_CONTEXT, chat))
  for (const each of [run, chat, tool]) each.end()
  assertChildOf(finished('chat'), finished('run'))
  assertChildOf(finished('tool'), finished('chat'))
  expect(() => assertChildOf(finished('run'), finished('chat'))).toThrow(
    /^span run is not a child of chat \(\w{16}, in trace \w{32}\): it is a root span$/,
  )
  expect(() => assertChildOf(finished('tool'), finished('run'))).toThrow(
    `: its parent is ${chat.spanContext().spanId}, in trace ${run.spanContext().traceId}`,
  )
  const same = { name: 'run', attributes: {}, status: { code: 0 }, spanId: run.spanContext().spanId, traceId: 'other' }
  expect(() => assertChildOf(finished('chat'), same)).toThrow('span chat is not a child of run')
})

test('a link is found by its target span, in memory and in received spans', () => {
  const { span, finished } = setup()
  const chat = span('chat', 1)
  span('tool', 2, { links: [{ context: chat.spanContext() }] }).end()
  chat.end()
  assertLinked(finished('tool'), finished('chat'))
  const id = chat.spanContext().spanId
  assertLinked({ name: 'tool', attributes: {}, status: { code: 0 }, links: [{ spanId: id }] }, finished('chat'))
  expect(() => assertLinked(finished('chat'), finished('tool'))).toThrow(
    /span chat has no link to tool \(\w+\); its links: none/,
  )
})
