/** The journal of received requests, without their secrets. */

import type { Refusal } from './rules/refusals.ts'
import type { WireName } from './wires/wire-name.ts'

/** One request; frozen, including its body. */
export interface JournalEntry {
  /** Counted from 1. */
  readonly number: number
  /** The wire that the request used. */
  readonly wire: WireName
  /** The HTTP method. */
  readonly method: string
  /** The whole URL, without secrets. */
  readonly url: string
  /** By lower-case name, without headers that contain secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** Parsed if it is JSON, otherwise its text. */
  readonly body: unknown
  /** The rules for which the provider would refuse it. Absent if it breaks none of those that apply. */
  readonly refusals?: readonly Refusal[]
}

/** A request as a transport received it. */
export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Iterable<readonly [name: string, value: string]>
  readonly body: string
}

const SECRET = /auth|api-?key|token|cookie|secret|credential|session|password|signature|organization|openai-project/i
const SECRET_PARAMETER = /^(api[-_]?)?key$|auth|token|secret|password|sig(nature)?$/i

export function journalEntry(number: number, wire: WireName, request: ReceivedRequest): JournalEntry {
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers) if (!carriesSecret(name)) headers[name.toLowerCase()] = value
  return deepFreeze({
    number,
    wire,
    method: request.method,
    url: withoutSecrets(request.url),
    headers,
    body: parse(request.body),
  })
}

/** Keeps the latest entries, up to a number of entries and of bytes. */
export class Bounded<Entry> {
  readonly entries: Entry[] = []
  readonly #sizes: number[] = []
  readonly #most: number
  readonly #bytes: number
  #size = 0

  constructor(most: number, bytes: number) {
    this.#most = most
    this.#bytes = bytes
  }

  /** Replaces an entry; does nothing if it is no longer kept. */
  replace(old: Entry, entry: Entry): void {
    const place = this.entries.lastIndexOf(old)
    if (place >= 0) this.entries[place] = entry
  }

  add(entry: Entry, size: number): void {
    this.entries.push(entry)
    this.#sizes.push(size)
    this.#size += size
    while (this.entries.length > this.#most || (this.#size > this.#bytes && this.entries.length > 1)) {
      this.entries.shift()
      this.#size -= this.#sizes.shift() ?? 0
    }
  }
}

/** Whether a header with this name contains a secret. */
export function carriesSecret(header: string): boolean {
  return SECRET.test(header)
}

/** The URL without user, password and parameters that contain keys. */
export function withoutSecrets(text: string): string {
  const url = new URL(text)
  url.username = ''
  url.password = ''
  const secret = [...url.searchParams.keys()].filter((name) => SECRET_PARAMETER.test(name))
  for (const name of secret) url.searchParams.delete(name)
  return url.href
}

/** The values of the parameters that contain keys. */
export function secretParameters(text: string): string[] {
  return [...new URL(text).searchParams].filter(([name]) => SECRET_PARAMETER.test(name)).map(([, value]) => value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function deepFreeze<Value>(value: Value): Value {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue
    for (const member of Object.values(Object.freeze(next))) if (typeof member === 'object') open.push(member)
  }
  return value
}
