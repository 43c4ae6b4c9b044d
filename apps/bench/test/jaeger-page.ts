/**
 * What Jaeger's page shows for a file, for tests, following its sources (`readJsonFile`, `transformTraceData`, `OtelSpanFacade`):
 * it throws where the page would refuse the file, drop a span, or show something wrong.
 */

export interface ShownTrace {
  readonly traceID: string
  readonly start: number
  readonly end: number
  /** Spans with a reference, none of which is to a span of this trace. */
  readonly orphans: number
  /** As they are shown below one another. */
  readonly spans: readonly ShownSpan[]
}

export interface ShownSpan {
  readonly name: string
  readonly depth: number
  readonly start: number
  readonly end: number
  readonly service: string
  readonly kind: string
  readonly error: boolean
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceID: string; readonly spanID: string }[]
  readonly events: readonly {
    readonly name: string
    readonly time: number
    readonly attributes: Readonly<Record<string, unknown>>
  }[]
  readonly warnings: readonly string[]
}

interface FileTrace {
  readonly traceID?: string
  readonly spans: readonly FileSpan[]
  readonly processes: Readonly<Record<string, { readonly serviceName: string; readonly tags?: readonly Tag[] }>>
}

interface FileSpan {
  readonly traceID: string
  readonly spanID: string
  readonly operationName: string
  readonly processID: string
  readonly startTime: number
  readonly duration: number
  readonly tags: readonly Tag[]
  readonly logs: readonly { readonly timestamp: number; readonly fields: readonly Tag[] }[]
  readonly references: readonly Reference[]
}

interface Reference {
  readonly refType: string
  readonly traceID: string
  readonly spanID: string
}

interface Tag {
  readonly key: string
  readonly value: unknown
}

export function shownByJaeger(text: string): readonly ShownTrace[] {
  const file = JSON.parse(text) as { readonly data?: readonly FileTrace[] }
  // It treats `resourceSpans` as OTLP, and sends that to the backend for translation.
  check(!('resourceSpans' in file), 'OTLP, which needs a backend')
  check(Array.isArray(file.data), 'no list data')
  return (file.data ?? []).map(shownTrace)
}

function shownTrace({ traceID, spans, processes }: FileTrace): ShownTrace {
  check(typeof traceID === 'string' && traceID !== '', 'a trace without traceID')
  for (const span of spans) checkSpan(span, processes)
  const byId = new Map(spans.map((span) => [span.spanID, span]))
  check(byId.size === spans.length, 'two spans have one spanID')
  const parentOf = ({ references }: FileSpan) =>
    references
      .filter(({ refType }) => refType === 'CHILD_OF' || refType === 'FOLLOWS_FROM')
      .map(({ spanID }) => byId.get(spanID))
      .find((span) => span !== undefined)
  const below = (parent: FileSpan | undefined, depth: number): readonly ShownSpan[] =>
    spans
      .filter((span) => parentOf(span) === parent)
      .sort((a, b) => a.startTime - b.startTime)
      .flatMap((span) => [shownSpan(span, depth, processes), ...below(span, depth + 1)])
  const shown = below(undefined, 0)
  check(shown.length === spans.length, 'a span is under none of the roots')
  return {
    traceID: traceID ?? '',
    start: Math.min(...shown.map(({ start }) => start)),
    end: Math.max(...shown.map(({ end }) => end)),
    orphans: spans.filter((span) => span.references.length > 0 && !parentOf(span)).length,
    spans: shown,
  }
}

function checkSpan(span: FileSpan, processes: FileTrace['processes']): void {
  check(Boolean(span.startTime), 'a span without startTime')
  for (const [name, time] of Object.entries({ startTime: span.startTime, duration: span.duration })) {
    check(Number.isSafeInteger(time) && time >= 0, `${name} is not an integer`)
  }
  check(span.processID in processes, `no process ${span.processID}`)
  const tags = [...span.tags, ...span.logs.flatMap(({ fields }) => fields), ...(processes[span.processID]?.tags ?? [])]
  for (const { key, value } of tags) {
    check(typeof key === 'string', 'a tag without a key')
    check(['string', 'number', 'boolean'].includes(typeof value), `the tag ${key} is not a plain value`)
  }
  for (const { refType } of span.references) {
    check(refType === 'CHILD_OF' || refType === 'FOLLOWS_FROM', `no reference is ${refType}`)
  }
}

function shownSpan(span: FileSpan, depth: number, processes: FileTrace['processes']): ShownSpan {
  const { references, traceID, tags } = span
  const own = references.filter((reference) => reference.traceID === traceID)
  const parent =
    own.find(({ refType }) => refType === 'CHILD_OF') ?? own.find(({ refType }) => refType === 'FOLLOWS_FROM')
  const attributes = recordOf(tags)
  return {
    name: span.operationName,
    depth,
    start: span.startTime,
    end: span.startTime + span.duration,
    service: processes[span.processID]?.serviceName ?? 'unknown-service',
    kind: textOf(attributes['span.kind'], 'internal'),
    error: Boolean(attributes.error),
    attributes,
    links: references
      .filter((reference) => reference !== parent)
      .map((reference) => ({ traceID: reference.traceID, spanID: reference.spanID })),
    events: span.logs.map(({ timestamp, fields }) => {
      const attributes = recordOf(fields)
      return { name: textOf(attributes.event, 'log'), time: timestamp, attributes }
    }),
    warnings: tags
      .filter(({ key, value }, at) => tags.findIndex((tag) => tag.key === key && tag.value === value) < at)
      .map(({ key, value }) => `Duplicate tag ${key}=${String(value)}`),
  }
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function recordOf(tags: readonly Tag[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(tags.map(({ key, value }) => [key, value]))
}

function check(holds: boolean, problem: string): void {
  if (!holds) throw new Error(`Jaeger's page does not show it: ${problem}`)
}
