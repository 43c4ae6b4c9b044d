/** The two formats of OTLP over HTTP: how a request is read and how it is answered. */

import { type MetricsRequest, pointsOf, type ReceivedPoint } from './otlp-points.ts'
import { metricsOfProtobuf, tracesOfProtobuf } from './otlp-protobuf.ts'
import { type ReceivedSpan, spansOf, type TraceRequest } from './otlp-spans.ts'

/** The content type of a request and of its answer. */
export type OtlpFormat = 'application/json' | 'application/x-protobuf'

/** Returns the format of a content type, whatever its parameters are; `undefined` for other types. */
export function otlpFormat(contentType = ''): OtlpFormat | undefined {
  const type = contentType.split(';')[0]?.trim().toLowerCase()
  return type === 'application/json' || type === 'application/x-protobuf' ? type : undefined
}

/** What a body contains. */
export interface DecodedSpans {
  /** The spans whose ids are valid, in order. */
  readonly spans: readonly ReceivedSpan[]
  /** The number of spans whose ids are not valid. */
  readonly rejected: number
}

/**
 * Reads an `ExportTraceServiceRequest`. Ids are returned in lower case. Spans with an id that is not 32 or 16
 * hexadecimal digits, or only zeros, are counted and left out. Throws an `Error` if the body is something else.
 */
export function decodeSpans(body: Uint8Array, format: OtlpFormat): DecodedSpans {
  const all = spansOf(format === 'application/json' ? (parsed(body) as TraceRequest) : tracesOfProtobuf(body))
  const spans = all.filter(({ traceId, spanId }) => TRACE_ID.test(traceId) && SPAN_ID.test(spanId))
  return { spans, rejected: all.length - spans.length }
}

const TRACE_ID = /^(?!0+$)[0-9a-f]{32}$/
const SPAN_ID = /^(?!0+$)[0-9a-f]{16}$/

/** Reads an `ExportMetricsServiceRequest`. Throws an `Error` if the body is something else. */
export function decodePoints(body: Uint8Array, format: OtlpFormat): ReceivedPoint[] {
  return pointsOf(format === 'application/json' ? (parsed(body) as MetricsRequest) : metricsOfProtobuf(body))
}

function parsed(body: Uint8Array): object {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('an object was expected')
  return value
}

/** The body of an answer to a request that was accepted, in its format; `rejected` counts the spans that were not. */
export function acceptance(format: OtlpFormat, rejected = 0, reason = ''): Uint8Array {
  if (format === 'application/json') {
    const partialSuccess = { rejectedSpans: String(rejected), errorMessage: reason }
    return encode(JSON.stringify(rejected > 0 ? { partialSuccess } : {}))
  }
  if (rejected === 0) return new Uint8Array()
  // partial_success = 1 { rejected_spans = 1, error_message = 2 }
  return field(1, Uint8Array.of(0x08, ...varint(rejected), ...field(2, encode(reason))))
}

/** The body of an answer to a request that was refused: a `google.rpc.Status` with this message. */
export function refusal(format: OtlpFormat, message: string): Uint8Array {
  return format === 'application/json' ? encode(JSON.stringify({ message })) : field(2, encode(message))
}

/** A member of protobuf with a length. */
function field(number: number, bytes: Uint8Array): Uint8Array {
  return Uint8Array.of((number << 3) | 2, ...varint(bytes.length), ...bytes)
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
