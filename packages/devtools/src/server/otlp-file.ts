/** Runs in files: reads OTLP/JSON, as one document or one per line, and writes a trace as one document. */

import { readFile } from 'node:fs/promises'
import { decodeSpans } from '@meanwhile/harness/otlp'
import { OtlpFileError } from '../errors.ts'
import { wireAttributes, wireRequest } from '../otlp-json.ts'
import { type Span, spanOf } from '../span.ts'

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
  return wireRequest(
    spans,
    ({ resource, scope, scopeVersion }) => JSON.stringify([resource, scope, scopeVersion]),
    ({ resource, scope, scopeVersion }) => ({
      resource: { attributes: wireAttributes(resource) },
      scope: { name: scope, version: scopeVersion },
    }),
    wireSpan,
  )
}

function wireSpan({ traceId, spanId, parentId, name, kind, start, end = 0, ...span }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name,
    kind: kind + 1,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: wireAttributes(span.attributes),
    events: span.events.map((event) => ({
      name: event.name,
      timeUnixNano: nanoseconds(event.at),
      attributes: wireAttributes(event.attributes),
    })),
    links: span.links,
    status: { code: span.status, ...(span.message !== undefined && { message: span.message }) },
  }
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds)
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)))
}
