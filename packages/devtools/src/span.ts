/** A span as the page's model reads it, made from what an exporter sent. */

import type { ReceivedSpan } from '@meanwhile/harness/otlp'

/** A value of an attribute. */
export type Value = string | number | boolean | null | undefined | readonly Value[] | { readonly [key: string]: Value }

/** Without a prototype, because the keys come from outside. */
export type Attributes = Readonly<Record<string, Value>>

/** Readonly lists are not narrowed by `Array.isArray`. */
export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

export interface SpanEvent {
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly attributes: Attributes
}

/** A span. Its times are milliseconds since the epoch: as doubles they are exact to a quarter of a microsecond until 2243. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** Absent for a root span. */
  readonly parentId?: string
  readonly name: string
  /** As in `SpanKind` of the API. */
  readonly kind: number
  readonly start: number
  /** Absent while the span is open. Only the processor for development sends open spans. */
  readonly end?: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  /** As in `SpanStatusCode` of the API. */
  readonly status: number
  readonly message?: string
  readonly scope: string
  readonly scopeVersion: string
  readonly resource: Attributes
}

const MiB = 1024 * 1024

/** What is kept of one span. */
const LIMITS = { attribute: MiB, span: 4 * MiB, attributes: 1_000, events: 1_000 }

/** Values that are too large are cut, and end with a mark. An `open` span has not ended, whatever the exporter wrote. */
export function spanOf(received: ReceivedSpan, open: boolean): Span {
  const cut = new Cutter(LIMITS.span)
  const { traceId, spanId, parentSpanId, kind, scope, status } = received
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentId: parentSpanId }),
    name: cut.text(received.name),
    kind,
    start: milliseconds(received.start),
    ...(!open && { end: milliseconds(received.end) }),
    attributes: cut.attributes(received.attributes),
    events: received.events.slice(0, LIMITS.events).map(({ name, time, attributes }) => ({
      name: cut.text(name),
      at: milliseconds(time),
      attributes: cut.attributes(attributes),
    })),
    links: received.links.slice(0, LIMITS.events).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    status: status.code,
    ...(status.message !== undefined && { message: cut.text(status.message) }),
    scope: scope.name,
    scopeVersion: scope.version ?? '',
    resource: cut.attributes(received.resource),
  }
}

/** A span that cannot be drawn: it never began, it ended before it began, or it lasted more than a year. */
export function isImpossible({ start, end = start }: Span): boolean {
  return start <= 0 || end < start || end - start > 366 * 86_400_000
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000n) / 1_000 + Number(nanoseconds % 1_000n) / 1e6
}

/** Keeps texts until their sum is too large. */
class Cutter {
  #left: number

  constructor(most: number) {
    this.#left = most
  }

  text(whole: string): string {
    const kept = whole.slice(0, Math.min(LIMITS.attribute, this.#left))
    this.#left -= kept.length
    return kept.length === whole.length ? whole : `${kept}… [${whole.length} characters]`
  }

  attributes(all: Readonly<Record<string, unknown>>): Attributes {
    const kept: Record<string, Value> = Object.create(null)
    for (const key of Object.keys(all).slice(0, LIMITS.attributes)) kept[this.text(key)] = this.#value(all[key])
    return kept
  }

  #value(value: unknown): Value {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number' || typeof value === 'boolean') return value
    if (Array.isArray(value)) return value.slice(0, 100_000).map((member) => this.#value(member))
    return typeof value === 'object' && value !== null ? this.attributes({ ...value }) : null
  }
}
