/** Runs in files: reads OTLP/JSON, as one document or one per line, and writes a trace as one document. */

import { readFile } from 'node:fs/promises'
import { decodeSpans } from '@meanwhile/harness/otlp'
import { OtlpFileError } from '../errors.ts'
import { wireAttributes, wireRequest } from '../otlp-json.ts'
import { type Span, spanOf } from '../span.ts'

/** Rejects with an {@link OtlpFileError}. */
export async function spansInFile(file: string): Promise<Span[]> {
  const text = await textOf(file)
  try {
    return spansIn(text)
  } catch (cause) {
    const lines = text.split('\n')
    if (lines.filter((line) => line.trim() !== '').length < 2) throw notOtlp(file, 'it', cause)
    return lines.flatMap((line, index) => {
      try {
        return line.trim() === '' ? [] : spansIn(line)
      } catch (inLine) {
        throw notOtlp(file, `line ${index + 1}`, inLine)
      }
    })
  }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    throw new OtlpFileError(file, `cannot be read: ${PROBLEMS[code] ?? code}`, { cause })
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
}

function notOtlp(file: string, part: string, cause: unknown): OtlpFileError {
  // The message of a parser has a piece of the file, which may be content.
  const why = cause instanceof SyntaxError ? 'is not JSON' : 'has other members than OTLP'
  return new OtlpFileError(file, `is not OTLP as JSON, as one document or one per line: ${part} ${why}`, { cause })
}

const spansIn = (text: string): Span[] =>
  decodeSpans(Buffer.from(text), 'application/json').spans.map((span) => spanOf(span, span.end === 0n))

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
