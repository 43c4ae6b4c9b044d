/** Converts metrics of OTLP to flat records: one per instrument, set of attributes and export. */

import { type Attributes, type KeyValue, plain, scopeOf, type WireResource, type WireScope } from './otlp-attributes.ts'

/** The value of one instrument for one set of attributes at the time of an export. */
export type ReceivedPoint = ReceivedNumber | ReceivedHistogram

interface PointOfMetric {
  /** The name of the metric. */
  readonly name: string
  /** For example `s` or `{tool_call}`; `''` if it has none. */
  readonly unit: string
  /** The attributes of the point. */
  readonly attributes: Attributes
  /** Nanoseconds since the epoch: the beginning of the measured interval (`start`) and its end (`time`). */
  readonly start: bigint
  /** When it was measured: nanoseconds since the epoch. */
  readonly time: bigint
  /** The instrumentation that made it: its name and version. */
  readonly scope: { readonly name: string; readonly version?: string }
  /** The attributes of the process that sent it. */
  readonly resource: Attributes
}

/** A point of a counter or gauge. */
export interface ReceivedNumber extends PointOfMetric {
  /** The kind of the instrument. */
  readonly kind: 'counter' | 'up-down-counter' | 'gauge'
  /** The value at that time. */
  readonly value: number
  /** Whether the value counts since the last export or since the start. Absent for a gauge. */
  readonly temporality?: Temporality
}

/** A point of a histogram. */
export interface ReceivedHistogram extends PointOfMetric {
  readonly kind: 'histogram'
  /** The number of values. */
  readonly count: number
  /** The sum of the values. */
  readonly sum: number
  /** The smallest value, if the exporter sends it. */
  readonly min?: number
  /** The largest value, if the exporter sends it. */
  readonly max?: number
  /** The upper bounds of all buckets except the last one, which has none. Empty for an exponential histogram. */
  readonly bounds: readonly number[]
  /** The number of values in each bucket. Empty for an exponential histogram. */
  readonly counts: readonly number[]
  /** Whether the values count since the last export or since the start. */
  readonly temporality: Temporality
}

/** `delta`: since the last export. `cumulative`: since the start. */
export type Temporality = 'delta' | 'cumulative'

/** Returns the points of one OTLP/JSON payload (an `ExportMetricsServiceRequest`), in its order. */
export function pointsOf({ resourceMetrics = [] }: MetricsRequest): ReceivedPoint[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics = [] }) => {
    const about = plain(resource?.attributes)
    return scopeMetrics.flatMap(({ scope, metrics = [] }) =>
      metrics.flatMap((metric) => pointsOfMetric(metric, { scope: scopeOf(scope), resource: about })),
    )
  })
}

function pointsOfMetric(metric: WireMetric, from: Pick<PointOfMetric, 'scope' | 'resource'>): ReceivedPoint[] {
  const common = ({ attributes, startTimeUnixNano = 0, timeUnixNano = 0 }: WirePoint): PointOfMetric => ({
    name: metric.name,
    unit: metric.unit ?? '',
    attributes: plain(attributes),
    start: BigInt(startTimeUnixNano),
    time: BigInt(timeUnixNano),
    ...from,
  })
  const { sum, gauge } = metric
  const histogram = metric.histogram ?? metric.exponentialHistogram
  return [
    ...(sum?.dataPoints ?? []).map((point) => ({
      ...common(point),
      kind: sum?.isMonotonic ? ('counter' as const) : ('up-down-counter' as const),
      value: numberOf(point),
      temporality: temporalityOf(sum),
    })),
    ...(gauge?.dataPoints ?? []).map((point) => ({
      ...common(point),
      kind: 'gauge' as const,
      value: numberOf(point),
    })),
    ...(histogram?.dataPoints ?? []).map((point) => ({
      ...common(point),
      kind: 'histogram' as const,
      count: Number(point.count),
      sum: point.sum ?? 0,
      ...(point.min !== undefined && { min: point.min }),
      ...(point.max !== undefined && { max: point.max }),
      bounds: point.explicitBounds ?? [],
      counts: (point.bucketCounts ?? []).map(Number),
      temporality: temporalityOf(histogram),
    })),
  ]
}

function numberOf({ asInt, asDouble }: WireNumber): number {
  return Number(asInt ?? asDouble ?? 0)
}

/** Converts the numbers 1 and 2 of the wire. */
function temporalityOf(metric: WireAggregation<unknown> | undefined): Temporality {
  return metric?.aggregationTemporality === 1 ? 'delta' : 'cumulative'
}

/** The parts of OTLP/JSON that are read. */
export interface MetricsRequest {
  /** The metrics, by process. */
  readonly resourceMetrics?: readonly {
    readonly resource?: WireResource
    readonly scopeMetrics?: readonly {
      readonly scope?: WireScope
      readonly metrics?: readonly WireMetric[]
    }[]
  }[]
}

export interface WireMetric {
  readonly name: string
  readonly unit?: string
  readonly sum?: WireAggregation<WireNumber>
  readonly gauge?: WireAggregation<WireNumber>
  readonly histogram?: WireAggregation<WireHistogram>
  readonly exponentialHistogram?: WireAggregation<WireHistogram>
}

interface WireAggregation<Point> {
  readonly dataPoints?: readonly Point[]
  readonly aggregationTemporality?: number
  readonly isMonotonic?: boolean
}

interface WirePoint {
  readonly attributes?: readonly KeyValue[]
  readonly startTimeUnixNano?: string | number | bigint
  readonly timeUnixNano?: string | number | bigint
}

interface WireNumber extends WirePoint {
  readonly asInt?: string | number | bigint
  readonly asDouble?: number
}

interface WireHistogram extends WirePoint {
  readonly count: string | number | bigint
  readonly sum?: number
  readonly min?: number
  readonly max?: number
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly (string | number | bigint)[]
}
