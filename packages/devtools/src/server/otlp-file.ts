/** Runs in files: reads OTLP/JSON, as one document or one per line, and writes a trace as one document. */

import { readFile } from 'node:fs/promises'
import { decodeSpans } from '@meanwhile/harness/otlp'
import { OtlpFileError } from '../errors.ts'
import { type Attributes, isList, type Span, spanOf, type Value } from '../span.ts'

/** Rejects with an {@link OtlpFileError}, or the error of reading the file. */
export async function spansInFile(file: string): Promise<Span[]> {
  const bytes = await readFile(file)
  try {
    return spansIn(bytes)
  } catch (cause) {
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
    if (lines.length < 2) throw new OtlpFileError(file, { cause })
    try {
      return lines.flatMap((line) => spansIn(Buffer.from(line)))
    } catch (inLine) {
      throw new OtlpFileError(file, { cause: inLine })
    }
  }
}

const spansIn = (bytes: Uint8Array): Span[] =>
  decodeSpans(bytes, 'application/json').spans.map((span) => spanOf(span, span.end === 0n))

/** The spans as one `ExportTraceServiceRequest` in JSON. */
export function otlpOf(spans: readonly Span[]): string {
  const groups = new Map<string, Span[]>()
  for (const span of spans) {
    const key = JSON.stringify([span.resource, span.scope, span.scopeVersion])
    groups.set(key, [...(groups.get(key) ?? []), span])
  }
  const resourceSpans = [...groups.values()].map((group) => ({
    resource: { attributes: attributesOf(group[0]?.resource ?? {}) },
    scopeSpans: [
      { scope: { name: group[0]?.scope ?? '', version: group[0]?.scopeVersion ?? '' }, spans: group.map(wireSpan) },
    ],
  }))
  return JSON.stringify({ resourceSpans })
}

function wireSpan({ traceId, spanId, parentId, name, kind, start, end = 0, ...span }: Span) {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name,
    kind: kind + 1,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributesOf(span.attributes),
    events: span.events.map((event) => ({
      name: event.name,
      timeUnixNano: nanoseconds(event.at),
      attributes: attributesOf(event.attributes),
    })),
    links: span.links,
    status: { code: span.status, ...(span.message !== undefined && { message: span.message }) },
  }
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds)
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)))
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: wireValue(value) }))
}

function wireValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return { intValue: String(value) }
    return { doubleValue: Number.isFinite(value) ? value : String(value) }
  }
  if (value === null || value === undefined) return {}
  if (isList(value)) return { arrayValue: { values: value.map(wireValue) } }
  return { kvlistValue: { values: attributesOf(value) } }
}
