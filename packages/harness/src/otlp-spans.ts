/** Spans as OTLP/JSON carries them, made flat and plain. */

/** Attribute values: text, numbers, booleans, lists and records of them; bytes stay base64. */
export type Attributes = Readonly<Record<string, unknown>>

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Absent on a root. */
  readonly parentSpanId?: string
  readonly name: string
  /** As in `SpanKind` of the API: 0 internal, 2 client. */
  readonly kind: number
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Attributes
  readonly events: readonly ReceivedEvent[]
  readonly links: readonly ReceivedLink[]
  /** As in `SpanStatusCode` of the API: 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code: number; readonly message?: string }
  readonly scope: { readonly name: string; readonly version?: string }
  readonly resource: Attributes
}

export interface ReceivedEvent {
  readonly name: string
  readonly time: bigint
  readonly attributes: Attributes
}

export interface ReceivedLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Attributes
}

/** The spans of one `ExportTraceServiceRequest`. */
export function spansOf(request: TraceRequest): ReceivedSpan[] {
  return (request.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({ ...received(span), scope: scope ?? { name: '' }, resource: plain(resource?.attributes) })),
    ),
  )
}

function received(span: WireSpan): Omit<ReceivedSpan, 'scope' | 'resource'> {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId ? { parentSpanId: span.parentSpanId } : {}),
    name: span.name,
    // OTLP counts kinds from 1; 0 is "unspecified", which the API does not know.
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

function plain(attributes: readonly KeyValue[] = []): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))
}

/** A double without a fraction comes as an integer, and a large integer as text: all of them are numbers here. */
function plainValue(value: AnyValue = {}): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(plainValue)
  if (value.kvlistValue) return plain(value.kvlistValue.values)
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue
}

/** What OTLP/JSON looks like, as far as it is read here. */
export interface TraceRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] }
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name: string; readonly version?: string }
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

interface KeyValue {
  readonly key: string
  readonly value?: AnyValue
}

interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number
  readonly doubleValue?: number
  readonly bytesValue?: string
  readonly arrayValue?: { readonly values?: readonly AnyValue[] }
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] }
}
