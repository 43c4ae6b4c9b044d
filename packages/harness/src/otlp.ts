/** Telemetry in tests: an OTLP receiver, and span trees to compare. */

export { HarnessError, WaitTimeoutError } from './errors.ts'
export {
  acceptance,
  type DecodedSpans,
  decodePoints,
  decodeSpans,
  type OtlpFormat,
  otlpFormat,
  refusal,
} from './otlp-format.ts'
export type { MetricsRequest, ReceivedHistogram, ReceivedNumber, ReceivedPoint, Temporality } from './otlp-points.ts'
export { pointsOf } from './otlp-points.ts'
export {
  type OtlpFault,
  type OtlpReceiver,
  type OtlpReceiverOptions,
  type OtlpRequest,
  otlpReceiver,
  type Received,
} from './otlp-receiver.ts'
export { type ReceivedEvent, type ReceivedLink, type ReceivedSpan, spansOf, type TraceRequest } from './otlp-spans.ts'
export { type SpanLike, type SpanNode, type SpanTreeOptions, spanOutline, spanTree } from './span-tree.ts'
