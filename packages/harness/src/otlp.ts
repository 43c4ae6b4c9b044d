/** For tests of telemetry: an OTLP receiver, and whole span trees to compare. */

export { HarnessError, WaitTimeoutError } from './errors.ts'
export { type OtlpReceiver, otlpReceiver } from './otlp-receiver.ts'
export type { ReceivedEvent, ReceivedLink, ReceivedSpan } from './otlp-spans.ts'
export { type SpanLike, type SpanNode, type SpanTreeOptions, spanOutline, spanTree } from './span-tree.ts'
