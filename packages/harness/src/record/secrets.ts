/** Removes secrets from a recording before it is written. */

import { isUtf8 } from 'node:buffer'
import { carriesSecret, secretParameters } from '../journal.ts'

/** The replacement for a secret. */
export const REDACTED = '[redacted]'

/** A piece of a body, and when it arrived. */
export interface TimedBytes {
  /** Milliseconds after the request. */
  readonly at: number
  /** The bytes, as they arrived. */
  readonly bytes: Uint8Array
}

export interface Redactor {
  /** Remembers the secrets in a URL and in headers: they are removed wherever else they occur. */
  learn(url: string, headers: Headers): void
  text(text: string): string
  /** JSON; strings in members whose name indicates a secret are replaced completely. */
  json(value: unknown): unknown
  /** A body, even if a secret is split over several pieces: its replacement is in the first one. */
  pieces(pieces: readonly TimedBytes[]): TimedBytes[]
}

/** `patterns`: the user's own, in addition to the keys and ids of the providers. */
export function redactor(patterns: readonly RegExp[] = []): Redactor {
  const all = [...PATTERNS, ...patterns.map(globally)]
  const learned = new Set<string>()
  return {
    learn(url, headers) {
      const values = [...secretParameters(url)]
      for (const [name, value] of headers) if (carriesSecret(name)) values.push(...secretsIn(name, value))
      for (const value of values) if (value.length >= SHORTEST) for (const form of written(value)) learned.add(form)
    },
    text,
    json,
    pieces: (pieces) => redactPieces(pieces, spansIn),
  }

  function text(from: string): string {
    let out = ''
    let at = 0
    for (const { start, end } of spansIn(from)) {
      out += from.slice(at, start) + REDACTED
      at = end
    }
    return out + from.slice(at)
  }

  function json(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return SECRET_MEMBER.test(name) ? REDACTED : text(value)
    if (Array.isArray(value)) return value.map((item) => json(item, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [text(key), json(member, key)]))
  }

  function spansIn(from: string): Span[] {
    const spans: Span[] = []
    for (const pattern of all) {
      for (const { indices } of from.matchAll(pattern)) {
        const [start, end] = indices?.groups?.secret ?? indices?.[0] ?? [0, 0]
        if (end > start) spans.push({ start, end })
      }
    }
    for (const secret of learned) {
      for (let start = from.indexOf(secret); start >= 0; start = from.indexOf(secret, start + 1)) {
        spans.push({ start, end: start + secret.length })
      }
    }
    return joined(spans)
  }
}

interface Span {
  readonly start: number
  readonly end: number
}

/** A shorter value is not treated as a secret, because it would match everywhere: `none`, `test`. */
const SHORTEST = 8

const MEMBER_NAMES =
  'x?-?api[-_]?key|authorization(?:[-_]?token)?|(?:access|auth|bearer|refresh|session|id)[-_]?token|client[-_]?secret|secret|' +
  'password|passwd|(?:set-)?cookie|credentials?|(?:openai-)?organization(?:[-_]?id)?|org[-_]?id|openai-project'

const SECRET_MEMBER = new RegExp(`^(?:${MEMBER_NAMES})$`, 'i')

/** The beginning of a word, also in JSON text, where an `n` may belong to an escaped line break before it. */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`

const PATTERNS: readonly RegExp[] = [
  // Keys of OpenAI, Anthropic and OpenRouter, also with stars in the middle, as in their error messages.
  'sk-[\\w*-]{8,}',
  '(?:gsk_|xai-|pplx-|hf_|r8_|gh[pousr]_|fw_|tgp_v1_)\\w{16,}',
  'AIza[\\w-]{30,}',
  'A(?:KIA|SIA)[A-Z0-9]{16}',
  'eyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]*',
  'Bearer\\s+(?<secret>[\\w.~+/=-]{8,})',
  // Organisations, projects and users of OpenAI, which occur in its errors.
  '(?:org-|proj_|user-)(?=[A-Za-z]*\\d)[A-Za-z0-9]{12,}',
]
  .map((pattern) => new RegExp(START + pattern, 'dg'))
  .concat(
    // A member of JSON …
    new RegExp(String.raw`"(?:${MEMBER_NAMES})"\s*:\s*"(?<secret>(?:[^"\\\n]|\\.)+)`, 'dgi'),
    // … or of JSON inside a JSON string; the match ends with that string, which may be a delta.
    new RegExp(
      String.raw`(?<quote>\\+")(?:${MEMBER_NAMES})\k<quote>\s*:\s*\k<quote>(?<secret>(?:[^"\\\n]|\\(?!\\*"))+)`,
      'dgi',
    ),
  )

function globally(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, [...new Set(`${pattern.flags.replace('y', '')}dg`)].join(''))
}

function secretsIn(header: string, value: string): string[] {
  if (header === 'set-cookie') return [value.replace(/;.*$/, '').replace(/^[^=]*=/, '')]
  if (header === 'cookie') return value.split(/;\s*/).map((pair) => pair.replace(/^[^=]*=/, ''))
  return [value, ...value.split(/\s+/)]
}

/** The forms of a secret: plain, in JSON, and in a URL. */
function written(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
}

function joined(spans: Span[]): Span[] {
  const out: Span[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = out.at(-1)
    if (last && span.start < last.end) out[out.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
    else out.push(span)
  }
  return out
}

function redactPieces(pieces: readonly TimedBytes[], spansIn: (text: string) => Span[]): TimedBytes[] {
  const body = Buffer.concat(pieces.map(({ bytes }) => bytes))
  const spans = spansInBytes(body, spansIn)
  if (spans.length === 0) return [...pieces]
  const out: TimedBytes[] = []
  let start = 0
  for (const { at, bytes } of pieces) {
    const end = start + bytes.length
    const kept = withoutSpans(body, { start, end }, spans)
    if (kept.length > 0) out.push({ at, bytes: kept })
    start = end
  }
  return out
}

/** Bytes that are not UTF-8 are read as Latin-1, so each byte is one character. */
function spansInBytes(body: Buffer, spansIn: (text: string) => Span[]): Span[] {
  if (!isUtf8(body)) return spansIn(body.toString('latin1'))
  const text = body.toString('utf8')
  return spansIn(text).map(({ start, end }) => {
    const before = Buffer.byteLength(text.slice(0, start))
    return { start: before, end: before + Buffer.byteLength(text.slice(start, end)) }
  })
}

function withoutSpans(body: Buffer, piece: Span, spans: readonly Span[]): Buffer {
  const kept: Buffer[] = []
  let at = piece.start
  for (const { start, end } of spans) {
    if (end <= at || start >= piece.end) continue
    if (start >= at) kept.push(body.subarray(at, start), Buffer.from(REDACTED))
    at = Math.min(end, piece.end)
  }
  return Buffer.concat([...kept, body.subarray(at, piece.end)])
}
