/** Spans as the JSON that Jaeger's page opens from a file: the form its query service has always answered in. Times in microseconds. */

import type { ReceivedEvent, ReceivedLink, ReceivedSpan } from '@meanwhile/harness/otlp'

export interface JaegerFile {
  /** In the order in which they began. */
  readonly data: readonly JaegerTrace[]
}

export interface JaegerTrace {
  readonly traceID: string
  readonly spans: readonly JaegerSpan[]
  readonly processes: Readonly<Record<string, JaegerProcess>>
  readonly warnings: null
}

export interface JaegerSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  /** The parent first, then the links. */
  readonly references: readonly JaegerReference[]
  readonly startTime: number
  readonly duration: number
  readonly tags: readonly JaegerTag[]
  readonly logs: readonly JaegerLog[]
  readonly processID: string
  readonly warnings: null
}

export interface JaegerReference {
  readonly refType: 'CHILD_OF' | 'FOLLOWS_FROM'
  readonly traceID: string
  readonly spanID: string
}

export interface JaegerTag {
  readonly key: string
  readonly type: 'string' | 'bool' | 'int64' | 'float64'
  readonly value: string | boolean | number
}

export interface JaegerLog {
  readonly timestamp: number
  readonly fields: readonly JaegerTag[]
}

export interface JaegerProcess {
  readonly serviceName: string
  readonly tags: readonly JaegerTag[]
}

/** All spans, by trace. Kind, status and scope become tags, as Jaeger's own translation has them. */
export function jaegerFileOf(spans: readonly ReceivedSpan[]): JaegerFile {
  const traces = new Map<string, ReceivedSpan[]>()
  for (const span of [...spans].sort((a, b) => Number(a.start - b.start))) {
    const ofTrace = traces.get(span.traceId)
    if (ofTrace) ofTrace.push(span)
    else traces.set(span.traceId, [span])
  }
  return { data: [...traces].map(([traceID, ofTrace]) => traceOf(traceID, ofTrace)) }
}

function traceOf(traceID: string, spans: readonly ReceivedSpan[]): JaegerTrace {
  const resources = [...new Map(spans.map(({ resource }) => [JSON.stringify(resource), resource]))]
  const ids = new Map(resources.map(([text], index) => [text, `p${index + 1}`]))
  const processIdOf = (resource: ReceivedSpan['resource']): string => ids.get(JSON.stringify(resource)) ?? ''
  return {
    traceID,
    spans: spans.map((span) => spanOf(span, processIdOf(span.resource))),
    processes: Object.fromEntries(resources.map(([, resource]) => [processIdOf(resource), processOf(resource)])),
    warnings: null,
  }
}

function spanOf(span: ReceivedSpan, processID: string): JaegerSpan {
  const startTime = microseconds(span.start)
  return {
    traceID: span.traceId,
    spanID: span.spanId,
    operationName: span.name,
    references: referencesOf(span),
    startTime,
    // From end to end on the same clock: rounding moves no child beyond its parent.
    duration: microseconds(span.end) - startTime,
    tags: tagsOf({ ...scopeTags(span), ...span.attributes, ...kindTag(span), ...statusTags(span) }),
    logs: span.events.map(logOf),
    processID,
    warnings: null,
  }
}

function referencesOf({ traceId, parentSpanId, links }: ReceivedSpan): readonly JaegerReference[] {
  const isParent = (link: ReceivedLink): boolean => link.traceId === traceId && link.spanId === parentSpanId
  return [
    ...(parentSpanId === undefined ? [] : [{ refType: 'CHILD_OF' as const, traceID: traceId, spanID: parentSpanId }]),
    ...links
      .filter((link) => !isParent(link))
      .map(({ traceId, spanId }) => ({ refType: 'FOLLOWS_FROM' as const, traceID: traceId, spanID: spanId })),
  ]
}

function scopeTags({ scope: { name, version } }: ReceivedSpan): Readonly<Record<string, string>> {
  return {
    ...(name !== '' && { 'otel.scope.name': name }),
    ...(version !== undefined && { 'otel.scope.version': version }),
  }
}

const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const

function kindTag({ kind }: ReceivedSpan): Readonly<Record<string, string>> {
  return { 'span.kind': KINDS[kind] ?? 'internal' }
}

/** Jaeger marks what has a tag `error`; UNSET has no tag at all. */
function statusTags({ status: { code, message } }: ReceivedSpan): Readonly<Record<string, string | boolean>> {
  return {
    ...(code === 1 && { 'otel.status_code': 'OK' }),
    ...(code === 2 && { 'otel.status_code': 'ERROR', error: true }),
    ...(message && { 'otel.status_description': message }),
  }
}

function logOf({ name, time, attributes }: ReceivedEvent): JaegerLog {
  return { timestamp: microseconds(time), fields: tagsOf({ event: name, ...attributes }) }
}

function processOf({ 'service.name': name, ...attributes }: ReceivedSpan['resource']): JaegerProcess {
  return { serviceName: typeof name === 'string' ? name : 'unknown-service', tags: tagsOf(attributes) }
}

function tagsOf(attributes: Readonly<Record<string, unknown>>): readonly JaegerTag[] {
  return Object.entries(attributes).map(([key, value]) => tagOf(key, value))
}

/** Lists and records are JSON in a text. */
function tagOf(key: string, value: unknown): JaegerTag {
  if (typeof value === 'string') return { key, type: 'string', value }
  if (typeof value === 'boolean') return { key, type: 'bool', value }
  if (typeof value === 'number') return { key, type: Number.isInteger(value) ? 'int64' : 'float64', value }
  return { key, type: 'string', value: JSON.stringify(value) ?? '' }
}

function microseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000n)
}
