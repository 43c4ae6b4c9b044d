/** Turns spans into a tree that is small enough to compare as a whole. */

import { checkOptions } from '@meanwhile/core'

/** The members of a span that are read. Spans of an `InMemorySpanExporter` and of the OTLP receiver have them. */
export interface SpanLike {
  /** The name of the span. */
  readonly name: string
  /** The attributes of the span. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** As in `SpanStatusCode` of the API: 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code: number; readonly message?: string }
  /** Only received spans. */
  readonly traceId?: string
  /** Only received spans. */
  readonly spanId?: string
  /** Only received spans; absent for a root span. */
  readonly parentSpanId?: string
  /** Only received spans: nanoseconds since the epoch. */
  readonly start?: bigint
  /** Only received spans: nanoseconds since the epoch. */
  readonly end?: bigint
  /** Only spans in memory. */
  spanContext?(): { readonly traceId: string; readonly spanId: string }
  /** Only spans in memory; absent for a root span. */
  readonly parentSpanContext?: { readonly spanId: string }
  /** Only spans in memory. */
  readonly startTime?: readonly [seconds: number, nanoseconds: number]
  /** Only spans in memory. */
  readonly endTime?: readonly [seconds: number, nanoseconds: number]
  /** The links to other spans. */
  readonly links?: readonly (({ readonly spanId: string } | { readonly context: { readonly spanId: string } }) & Told)[]
  /** The events of the span. */
  readonly events?: readonly ({ readonly name: string } & Told)[]
}

interface Told {
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** A span with its children. */
export interface SpanNode {
  /** The name of the span. */
  readonly name: string
  /** The selected attributes that the span has; absent if it has none of them. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** When it started and ended, in whole milliseconds since the start of the first span; only with `times`. */
  readonly ms?: readonly [start: number, end: number]
  /** The message of its error status, `''` if it has none; absent unless the status is an error. */
  readonly error?: string
  /** In the order in which they started; absent if it has none. */
  readonly children?: readonly SpanNode[]
}

/** What a span tree shows. */
export interface SpanTreeOptions {
  /** The names of the attributes to show. Default: none. */
  readonly attributes?: readonly string[]
  /** Whether to show when each span started and ended. Default `false`. */
  readonly times?: boolean
}

/** Returns the root spans, in the order in which they started. A span whose parent is not in the list is a root. */
export function spanTree(spans: readonly SpanLike[], options: SpanTreeOptions = {}): SpanNode[] {
  checkOptions('spanTree', options, { attributes: '', times: 'durations' })
  const { attributes = [], times = false } = options
  const known = new Set(spans.map(idOf))
  const children = new Map<string | undefined, SpanLike[]>()
  const sorted = [...spans].sort((a, b) => Number(startOf(a) - startOf(b)))
  const first = sorted[0] ? startOf(sorted[0]) : 0n
  for (const span of sorted) {
    const parent = parentOf(span)
    const under = parent !== undefined && known.has(parent) ? parent : undefined
    const siblings = children.get(under)
    if (siblings) siblings.push(span)
    else children.set(under, [span])
  }
  return under(undefined) ?? []

  function under(parent: string | undefined): SpanNode[] | undefined {
    return children.get(parent)?.map(node)
  }

  function node(span: SpanLike): SpanNode {
    const shown = attributes.filter((name) => span.attributes[name] !== undefined)
    const below = under(idOf(span))
    return {
      name: span.name,
      ...(shown.length > 0
        ? { attributes: Object.fromEntries(shown.map((name) => [name, span.attributes[name]])) }
        : {}),
      ...(times ? { ms: [msSince(first, startOf(span)), msSince(first, endOf(span))] as const } : {}),
      ...(span.status.code === ERROR ? { error: span.status.message ?? '' } : {}),
      ...(below ? { children: below } : {}),
    }
  }
}

/**
 * The same tree as text, one span per line, two spaces per level:
 * `chat gpt {"gen_ai.request.stream":true} 20–540 ms ERROR message`.
 */
export function spanOutline(spans: readonly SpanLike[], options: SpanTreeOptions = {}): string {
  const lines: string[] = []
  for (const root of spanTree(spans, options)) write(root, '')
  return lines.join('\n')

  function write({ name, attributes, ms, error, children = [] }: SpanNode, indent: string): void {
    const shown = attributes ? ` ${JSON.stringify(attributes)}` : ''
    const when = ms ? ` ${ms[0]}–${ms[1]} ms` : ''
    lines.push(`${indent}${name}${shown}${when}${error === undefined ? '' : ` ERROR ${error}`.trimEnd()}`)
    for (const child of children) write(child, `${indent}  `)
  }
}

const ERROR = 2

/** The id of a span. */
export function idOf(span: SpanLike): string {
  return span.spanId ?? span.spanContext?.().spanId ?? ''
}

/** The id of its parent; `undefined` for a root. */
export function parentOf(span: SpanLike): string | undefined {
  return span.parentSpanId ?? span.parentSpanContext?.spanId
}

/** The id of its trace. */
export function traceOf(span: SpanLike): string {
  return span.traceId ?? span.spanContext?.().traceId ?? ''
}

/** When a span started, in nanoseconds. */
export function startOf({ start, startTime }: SpanLike): bigint {
  return start ?? nanoseconds(startTime)
}

/** When a span ended, in nanoseconds. */
export function endOf({ end, endTime }: SpanLike): bigint {
  // A span in memory has a method with this name.
  return typeof end === 'bigint' ? end : nanoseconds(endTime)
}

function msSince(first: bigint, time: bigint): number {
  return Math.round(Number(time - first) / 1_000_000)
}

function nanoseconds([seconds, rest]: readonly [number, number] = [0, 0]): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(rest)
}
