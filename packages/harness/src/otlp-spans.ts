/** Converts spans of OTLP/JSON to flat records. */

import { type Attributes, type KeyValue, plain, type WireResource, type WireScope } from './otlp-attributes.ts'

/** A span, as it was received. */
export interface ReceivedSpan {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly traceId: string
  /** The id of the span: 16 hexadecimal digits. */
  readonly spanId: string
  /** Absent for a root span. */
  readonly parentSpanId?: string
  /** The name of the span. */
  readonly name: string
  /** As in `SpanKind` of the API: 0 internal, 2 client. */
  readonly kind: number
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  /** Nanoseconds since the epoch. */
  readonly end: bigint
  /** The attributes of the span. */
  readonly attributes: Attributes
  /** The events of the span, in order. */
  readonly events: readonly ReceivedEvent[]
  /** The links to other spans. */
  readonly links: readonly ReceivedLink[]
  /** As in `SpanStatusCode` of the API: 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code: number; readonly message?: string }
  /** The instrumentation that made it: its name and version. */
  readonly scope: { readonly name: string; readonly version?: string }
  /** The attributes of the process that sent it. */
  readonly resource: Attributes
}

/** An event of a span. */
export interface ReceivedEvent {
  /** The name of the event. */
  readonly name: string
  /** Nanoseconds since the epoch. */
  readonly time: bigint
  /** The attributes of the event. */
  readonly attributes: Attributes
}

/** A link from a span to another one. */
export interface ReceivedLink {
  /** The id of the other span's trace. */
  readonly traceId: string
  /** The id of the other span. */
  readonly spanId: string
  /** The attributes of the link. */
  readonly attributes: Attributes
}

/** Returns the spans of one OTLP/JSON payload (an `ExportTraceServiceRequest`), in its order. */
export function spansOf({ resourceSpans = [] }: TraceRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const about = plain(resource?.attributes)
    return scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({ ...received(span), scope: { name: '', ...scope }, resource: about })),
    )
  })
}

function received(span: WireSpan): Omit<ReceivedSpan, 'scope' | 'resource'> {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId ? { parentSpanId: span.parentSpanId } : {}),
    name: span.name,
    // OTLP counts kinds from 1; 0 is "unspecified", which the API does not have.
    kind: Math.max(0, (span.kind ?? 1) - 1),
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
    attributes: plain(span.attributes),
    events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
      name,
      time: BigInt(timeUnixNano),
      attributes: plain(attributes),
    })),
    links: (span.links ?? []).map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: plain(attributes),
    })),
    status: { ...span.status, code: span.status?.code ?? 0 },
  }
}

/** The parts of OTLP/JSON that are read. */
export interface TraceRequest {
  /** The spans, by process. */
  readonly resourceSpans?: readonly {
    readonly resource?: WireResource
    readonly scopeSpans?: readonly {
      readonly scope?: WireScope
      readonly spans?: readonly WireSpan[]
    }[]
  }[]
}

interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind?: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
  readonly events?: readonly {
    readonly name: string
    readonly timeUnixNano: string
    readonly attributes?: readonly KeyValue[]
  }[]
  readonly links?: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes?: readonly KeyValue[]
  }[]
  readonly status?: { readonly code?: number; readonly message?: string }
}
