/** Sends spans to a collector, and counts those that ended and those that arrived. */

import { messageOf } from '@meanwhile/core'
import type { BatchSpanProcessor, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'

export interface Delivery {
  readonly processor: SpanProcessor
  /** The message if not all spans arrived; `error` is the SDK's error from its shutdown. */
  problem(error: unknown): string | undefined
}

/** The default of 2,048 loses spans of a burst; this many fill 64 MB. */
const QUEUE = 65_536
/** The exporter sends at most 30 batches at once and drops the rest: the whole queue must fit into them. */
const BATCH = 4_096

export async function deliveryOf(url: string): Promise<Delivery> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }] = await Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/sdk-trace'),
  ])
  // The SDK reads this variable only for a processor that it creates itself.
  const delay = Number(process.env.OTEL_BSP_SCHEDULE_DELAY)
  const count = { ended: 0, arrived: 0, error: undefined as unknown }
  const exporter = new OTLPTraceExporter({ url: new URL('v1/traces', url.endsWith('/') ? url : `${url}/`).href })
  const batches = new BatchSpanProcessor({
    exporter: counting(exporter, count),
    maxQueueSize: QUEUE,
    maxExportBatchSize: BATCH,
    ...(delay > 0 && { scheduledDelayMillis: delay }),
  })
  return {
    processor: counted(batches, count),
    problem(error) {
      const { ended, arrived } = count
      if (arrived === ended) return undefined
      const reason = reasonOf(count.error ?? error)
      return `${some(ended - arrived, ended)} not sent to ${url}${reason === '' ? '' : `: ${reason}`}`
    },
  }
}

interface Count {
  ended: number
  arrived: number
  error: unknown
}

function counting(exporter: SpanExporter, count: Count): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === 0) count.arrived += spans.length
        else count.error = result.error
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

function counted(processor: BatchSpanProcessor, count: Count): SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd(span) {
      // Spans that a sampler leaves out need not arrive.
      count.ended += span.spanContext().traceFlags & 1
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}

function some(part: number, all: number): string {
  const format = new Intl.NumberFormat('en')
  return part === all ? `${format.format(all)} spans` : `${format.format(part)} of ${format.format(all)} spans`
}

/** The SDK returns several errors as a list, and a network error may hold several, without its own message. */
function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : Array.isArray(error) ? error[0] : error
  return first === undefined ? '' : messageOf(first) || (first instanceof Error ? first.name : '')
}
