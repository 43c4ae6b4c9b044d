/** Spans and metrics of one test, in memory. */

import { type SpanWatch, watchSpans } from '@meanwhile/harness/assert'
import type { Attributes } from '@opentelemetry/api'
import { DataPointType, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** The measurements with one set of attributes. */
export interface Point {
  readonly name: string
  readonly attributes: Attributes
  /** For a histogram. */
  readonly count?: number
  /** To a tenth of a millisecond. */
  readonly sum: number
}

export interface Instrument {
  readonly unit: string
  /** For a histogram. */
  readonly buckets?: readonly number[]
}

export interface Observed {
  readonly telemetry: { readonly tracerProvider: TracerProvider; readonly meterProvider: MeterProvider }
  /** Counts how often each span was ended. */
  readonly watch: SpanWatch
  /** In the order in which they ended. */
  spans(): readonly ReadableSpan[]
  /** The span with this name. */
  span(name: string): ReadableSpan
  points(): Promise<readonly Point[]>
  /** By name. */
  instruments(): Promise<Readonly<Record<string, Instrument>>>
  /** Forgets everything so far. */
  reset(): void
}

export function observed(sampler?: Sampler): Observed {
  const exporter = new InMemorySpanExporter()
  const watch = watchSpans()
  const spanProcessors = [watch, new SimpleSpanProcessor({ exporter })]
  const tracerProvider = new TracerProvider({ spanProcessors, ...(sampler && { sampler }) })
  const reader = new Reader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const metrics = async () => {
    const { resourceMetrics } = await reader.collect()
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
  }
  return {
    telemetry: { tracerProvider, meterProvider },
    watch,
    spans: () => exporter.getFinishedSpans(),
    span(name) {
      const spans = exporter.getFinishedSpans()
      const found = spans.filter((span) => span.name === name)
      if (found.length === 1 && found[0]) return found[0]
      throw new Error(`${found.length} spans ${name} among ${spans.map(({ name }) => name).join(', ')}`)
    },
    async points() {
      return (await metrics()).flatMap(({ descriptor: { name }, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({ name, attributes, ...sumOf(value) })),
      )
    },
    async instruments() {
      const all = (await metrics()).map((metric): readonly [string, Instrument] => {
        const { name, unit } = metric.descriptor
        if (metric.dataPointType !== DataPointType.HISTOGRAM) return [name, { unit }]
        return [name, { unit, buckets: metric.dataPoints[0]?.value.buckets.boundaries ?? [] }]
      })
      return Object.fromEntries(all)
    },
    reset: () => exporter.reset(),
  }
}

/** Seconds between start and end of a span. */
export function durationOf({ duration: [seconds, nanoseconds] }: ReadableSpan): number {
  return rounded(seconds + nanoseconds / 1e9)
}

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function sumOf(value: unknown): Pick<Point, 'count' | 'sum'> {
  if (typeof value === 'number') return { sum: value }
  const { count, sum = 0 } = value as Histogram
  return { count, sum: rounded(sum) }
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1e4) / 1e4
}
