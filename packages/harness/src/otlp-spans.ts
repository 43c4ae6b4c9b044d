/** Converts spans of OTLP to flat records. */

import {
  type Attributes,
  type KeyValue,
  plain,
  scopeOf,
  textOf,
  type WireResource,
  type WireScope,
} from './otlp-attributes.ts'

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

/** Returns the spans of one OTLP/JSON payload (an `ExportTraceServiceRequest`), in its order, whatever their ids are. */
export function spansOf({ resourceSpans = [] }: TraceRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const about = plain(resource?.attributes)
    return scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({ ...received(span), scope: scopeOf(scope), resource: about })),
    )
  })
}

function received(span: WireSpan): Omit<ReceivedSpan, 'scope' | 'resource'> {
  return {
    traceId: idOf(span.traceId),
    spanId: idOf(span.spanId),
    ...(span.parentSpanId ? { parentSpanId: idOf(span.parentSpanId) } : {}),
    name: textOf(span.name),
    // OTLP counts kinds from 1; 0 is "unspecified", which the API does not have.
    kind: Math.max(0, wholeOf(span.kind ?? 1) - 1),
    // JSON leaves out a time that is 0: the span has not ended.
    start: BigInt(span.startTimeUnixNano ?? 0),
    end: BigInt(span.endTimeUnixNano ?? 0),
    attributes: plain(span.attributes),
    events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
      name: textOf(name),
      time: BigInt(timeUnixNano ?? 0),
      attributes: plain(attributes),
    })),
    links: (span.links ?? []).map(({ traceId, spanId, attributes }) => ({
      traceId: idOf(traceId),
      spanId: idOf(spanId),
      attributes: plain(attributes),
    })),
    status: {
      code: wholeOf(span.status?.code ?? 0),
      ...(span.status?.message ? { message: textOf(span.status.message) } : {}),
    },
  }
}

const idOf = (id: unknown): string => textOf(id).toLowerCase()

function wholeOf(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new TypeError('a whole number was expected')
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

type Nanoseconds = string | number | bigint

interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind?: number
  readonly startTimeUnixNano?: Nanoseconds
  readonly endTimeUnixNano?: Nanoseconds
  readonly attributes?: readonly KeyValue[]
  readonly events?: readonly {
    readonly name: string
    readonly timeUnixNano?: Nanoseconds
    readonly attributes?: readonly KeyValue[]
  }[]
  readonly links?: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly attributes?: readonly KeyValue[]
  }[]
  readonly status?: { readonly code?: number; readonly message?: string }
}
