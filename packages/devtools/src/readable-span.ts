/** The spans of OpenTelemetry's SDK, of its versions 1 to 3, and how they are written as OTLP. */

import { type WireAttribute, wireAttributes, wireRequest } from './otlp-json.ts'
import type { Value } from './span.ts'

/** Seconds and nanoseconds. */
type Time = readonly [number, number]

type Attributes = Readonly<Record<string, Value>>

interface Context {
  readonly traceId: string
  readonly spanId: string
}

interface Scope {
  readonly name: string
  readonly version?: string | undefined
}

/** What is read of a span. */
export interface ReadableSpan {
  readonly name: string
  readonly kind: number
  spanContext(): Context
  readonly parentSpanContext?: Context | undefined
  /** Before version 2. */
  readonly parentSpanId?: string | undefined
  readonly startTime: Time
  readonly endTime: Time
  readonly status: { readonly code: number; readonly message?: string | undefined }
  // The SDK types these more narrowly than they are at run time.
  readonly attributes: object
  readonly events: readonly { readonly name: string; readonly time: Time; readonly attributes?: object | undefined }[]
  readonly links: readonly { readonly context: Context; readonly attributes?: object | undefined }[]
  readonly resource: { readonly attributes: object }
  readonly instrumentationScope?: Scope
  /** Before version 2. */
  readonly instrumentationLibrary?: Scope
}

/** A request with these spans. An open one gets the end 0. */
export function requestOf(spans: readonly ReadableSpan[], open: boolean): string {
  return wireRequest(
    spans,
    scopeOf,
    (span) => {
      const { name, version = '' } = scopeOf(span)
      return { resource: { attributes: attributesOf(span.resource.attributes) }, scope: { name, version } }
    },
    (span) => wireSpan(span, open),
  )
}

const UNKNOWN: Scope = { name: '' }

const scopeOf = ({ instrumentationScope, instrumentationLibrary }: ReadableSpan): Scope =>
  instrumentationScope ?? instrumentationLibrary ?? UNKNOWN

function wireSpan(span: ReadableSpan, open: boolean): object {
  const { traceId, spanId } = span.spanContext()
  const parentSpanId = span.parentSpanContext?.spanId ?? span.parentSpanId
  const { code, message } = span.status
  return {
    traceId,
    spanId,
    ...(parentSpanId && { parentSpanId }),
    name: span.name,
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: open ? '0' : nanoseconds(span.endTime),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, time, attributes = {} }) => ({
      name,
      timeUnixNano: nanoseconds(time),
      attributes: attributesOf(attributes),
    })),
    links: span.links.map(({ context, attributes = {} }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: attributesOf(attributes),
    })),
    status: { code, ...(message && { message }) },
  }
}

const attributesOf = (attributes: object): WireAttribute[] => wireAttributes(attributes as Attributes)

function nanoseconds([seconds, nanos]: Time): string {
  return `${seconds}${String(Math.round(nanos)).padStart(9, '0')}`
}
