import { ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { assertLinked, assertNoContent, assertOverlap, watchSpans } from './spans.ts'

function setup() {
  const exporter = new InMemorySpanExporter()
  const watch = watchSpans()
  const provider = new TracerProvider({ spanProcessors: [watch, new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const span = (name: string, start: number, options = {}) =>
    tracer.startSpan(name, { startTime: [start, 0], ...options }, ROOT_CONTEXT)
  const finished = (name: string) => {
    const found = exporter.getFinishedSpans().find((each) => each.name === name)
    if (!found) throw new Error(`no span ${name}`)
    return found
  }
  return { exporter, watch, span, finished }
}

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
      message: 'of 3 spans these were not ended once: open never, twice 2 times',
    }),
  )
})

test('an attribute for content is found', () => {
  const { span, exporter } = setup()
  span('chat', 1, { attributes: { 'gen_ai.input.messages': '[]' } }).end()
  expect(() => assertNoContent(exporter.getFinishedSpans())).toThrow(
    'span chat has the attribute gen_ai.input.messages',
  )
})

test.for(['name', 'attribute', 'status', 'event'] as const)(
  'a text that must not be seen is found in the %s',
  (place) => {
    const { span, exporter } = setup()
    const text = 'the "secret"'
    const chat = span(place === 'name' ? `tool ${text}` : 'tool', 1)
    if (place === 'attribute') chat.setAttribute('a', [`x ${text}`])
    if (place === 'status') chat.setStatus({ code: SpanStatusCode.ERROR, message: text })
    if (place === 'event') chat.addEvent('e', { a: text })
    chat.end()
    assertNoContent(exporter.getFinishedSpans(), ['another'])
    expect(() => assertNoContent(exporter.getFinishedSpans(), [text])).toThrow('holds the text "the \\"secret\\""')
  },
)

test('two spans overlap, or one came after the other', () => {
  const { span, finished } = setup()
  span('chat', 1).end([3, 0])
  span('early', 2).end([4, 0])
  span('late', 3).end([4, 0])
  assertOverlap(finished('chat'), finished('early'))
  assertOverlap(finished('early'), finished('chat'))
  expect(() => assertOverlap(finished('late'), finished('chat'))).toThrow('span late started 0 ms after chat had ended')
  const [a, b] = [
    { name: 'a', attributes: {}, status: { code: 0 }, start: 0n, end: 1_000_000n },
    { name: 'b', attributes: {}, status: { code: 0 }, start: 3_500_000n, end: 4_000_000n },
  ]
  expect(() => assertOverlap(a, b)).toThrow('span b started 2.5 ms after a had ended')
})

test('a link is found by the span it leads to, in memory and as received', () => {
  const { span, finished } = setup()
  const chat = span('chat', 1)
  span('tool', 2, { links: [{ context: chat.spanContext() }] }).end()
  chat.end()
  assertLinked(finished('tool'), finished('chat'))
  const id = chat.spanContext().spanId
  assertLinked({ name: 'tool', attributes: {}, status: { code: 0 }, links: [{ spanId: id }] }, finished('chat'))
  expect(() => assertLinked(finished('chat'), finished('tool'))).toThrow(
    /span chat has no link to tool \(\w+\), but to none/,
  )
})
