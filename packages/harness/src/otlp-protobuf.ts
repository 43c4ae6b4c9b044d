/** Reads protobuf requests of OTLP into the form that they have in OTLP/JSON, so that both are converted in the same way. */

import { fromBinary } from '@bufbuild/protobuf'
import type { AnyValue, KeyValue } from './otlp-attributes.ts'
import { ExportMetricsServiceRequestSchema } from './otlp-gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js'
import { ExportTraceServiceRequestSchema } from './otlp-gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.js'
import type {
  KeyValue as ProtobufKeyValue,
  AnyValue as ProtobufValue,
} from './otlp-gen/opentelemetry/proto/common/v1/common_pb.js'
import type { Exemplar, Metric, NumberDataPoint } from './otlp-gen/opentelemetry/proto/metrics/v1/metrics_pb.js'
import type { MetricsRequest, WireMetric } from './otlp-points.ts'
import type { TraceRequest } from './otlp-spans.ts'

// A value inside a list takes two levels. Deeper ones are an error, because reading them would take too much of the stack.
const READ = { recursionLimit: 1_000, readUnknownFields: false }

/** Throws an error for bytes that are not an `ExportTraceServiceRequest`. */
export function tracesOfProtobuf(bytes: Uint8Array): TraceRequest {
  const { resourceSpans } = fromBinary(ExportTraceServiceRequestSchema, bytes, READ)
  return {
    resourceSpans: resourceSpans.map(({ resource, scopeSpans }) => ({
      resource: { attributes: keyValues(resource?.attributes) },
      scopeSpans: scopeSpans.map(({ scope, spans }) => ({
        scope: { name: scope?.name ?? '', version: scope?.version ?? '' },
        spans: spans.map((span) => ({
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentSpanId: hex(span.parentSpanId),
          name: span.name,
          kind: span.kind,
          startTimeUnixNano: span.startTimeUnixNano,
          endTimeUnixNano: span.endTimeUnixNano,
          attributes: keyValues(span.attributes),
          events: span.events.map(({ name, timeUnixNano, attributes }) => ({
            name,
            timeUnixNano,
            attributes: keyValues(attributes),
          })),
          links: span.links.map(({ traceId, spanId, attributes }) => ({
            traceId: hex(traceId),
            spanId: hex(spanId),
            attributes: keyValues(attributes),
          })),
          status: {
            code: span.status?.code ?? 0,
            ...(span.status?.message ? { message: span.status.message } : {}),
          },
        })),
      })),
    })),
  }
}

/** Throws an error for bytes that are not an `ExportMetricsServiceRequest`. */
export function metricsOfProtobuf(bytes: Uint8Array): MetricsRequest {
  const { resourceMetrics } = fromBinary(ExportMetricsServiceRequestSchema, bytes, READ)
  return {
    resourceMetrics: resourceMetrics.map(({ resource, scopeMetrics }) => ({
      resource: { attributes: keyValues(resource?.attributes) },
      scopeMetrics: scopeMetrics.map(({ scope, metrics }) => ({
        scope: { name: scope?.name ?? '', version: scope?.version ?? '' },
        metrics: metrics.map(metricOf),
      })),
    })),
  }
}

function metricOf({ name, unit, data }: Metric): WireMetric {
  if (data.case === 'sum' || data.case === 'gauge') {
    return { name, unit, [data.case]: { ...data.value, dataPoints: data.value.dataPoints.map(numberPoint) } }
  }
  if (data.case === 'histogram' || data.case === 'exponentialHistogram') {
    const dataPoints = data.value.dataPoints.map((point) => ({
      ...point,
      attributes: keyValues(point.attributes),
      exemplars: [] satisfies Exemplar[],
    }))
    return { name, unit, [data.case]: { ...data.value, dataPoints } }
  }
  return { name, unit }
}

function numberPoint({ attributes, value, startTimeUnixNano, timeUnixNano }: NumberDataPoint) {
  const times = { startTimeUnixNano, timeUnixNano }
  return { attributes: keyValues(attributes), ...times, ...(value.case && { [value.case]: value.value }) }
}

function keyValues(attributes: readonly ProtobufKeyValue[] = []): KeyValue[] {
  return attributes.map(({ key, value }) => ({ key, value: value && anyValue(value) }))
}

function anyValue({ value }: ProtobufValue): AnyValue {
  switch (value.case) {
    case undefined:
      return {}
    case 'arrayValue':
      return { arrayValue: { values: value.value.values.map(anyValue) } }
    case 'kvlistValue':
      return { kvlistValue: { values: keyValues(value.value.values) } }
    case 'bytesValue':
      return { bytesValue: Buffer.from(value.value).toString('base64') }
    default:
      return { [value.case]: value.value }
  }
}

function hex({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('hex')
}
