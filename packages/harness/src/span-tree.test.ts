import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { spanOutline, spanTree } from './span-tree.ts'

function finishedSpans() {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const run = tracer.startSpan('run', { startTime: [1, 0] }, ROOT_CONTEXT)
  const inRun = trace.setSpan(ROOT_CONTEXT, run)
  const chat = tracer.startSpan('chat', { startTime: [2, 0], attributes: { model: 'm', secret: 's' } }, inRun)
  const tool = tracer.startSpan('tool', { startTime: [3, 0] }, inRun)
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'broken' })
  tool.end([4, 0])
  chat.end([5, 0])
  run.end([6, 0])
  return exporter.getFinishedSpans()
}

test('the tree has the roots and the children in the order in which they started', () => {
  expect(spanTree(finishedSpans(), { attributes: ['model'] })).toEqual([
    {
      name: 'run',
      children: [
        { name: 'chat', attributes: { model: 'm' } },
        { name: 'tool', error: 'broken' },
      ],
    },
  ])
})

test('the outline has one span per line', () => {
  expect(spanOutline(finishedSpans(), { attributes: ['model'] })).toBe(
    ['run', '  chat {"model":"m"}', '  tool ERROR broken'].join('\n'),
  )
})

test('with times each line shows when its span started and ended, relative to the first', () => {
  expect(spanOutline(finishedSpans(), { times: true })).toBe(
    ['run 0–5000 ms', '  chat 1000–4000 ms', '  tool 2000–3000 ms ERROR broken'].join('\n'),
  )
  expect(spanTree(finishedSpans(), { times: true })[0]?.children?.[0]).toEqual({ name: 'chat', ms: [1_000, 4_000] })
  expect(spanOutline([], { times: true })).toBe('')
})

test('a span whose parent is missing is a root', () => {
  const spans = finishedSpans().filter((span) => span.name !== 'run')
  expect(spanOutline(spans)).toBe('chat\ntool ERROR broken')
})
