/** Reads values of unknown shape: what has another shape counts as empty. */

import { isRecord } from '@meanwhile/core/calls'

export type Members = Readonly<Record<string, unknown>>

const NONE: Members = Object.freeze({})

export function members(value: unknown): Members {
  return isRecord(value) ? value : NONE
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** The number, or NaN, which no comparison finds. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN
}

/** The first name that a record has and a list lacks. */
export function foreignName(value: Members, known: ReadonlySet<string>): string | undefined {
  return Object.keys(value).find((name) => !known.has(name))
}

/** The first of these names that a record has. */
export function nameIn(value: Members, names: readonly string[]): string | undefined {
  return names.find((name) => Object.hasOwn(value, name))
}

/** The first value that comes a second time. */
export function repeated(values: Iterable<unknown>): unknown {
  const met = new Set<unknown>()
  for (const value of values) {
    if (met.has(value)) return value
    met.add(value)
  }
  return undefined
}

export function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** The parts of a data URL; undefined if it is another URL. */
export function dataUrl(
  url: unknown,
): { readonly type: string; readonly base64: boolean; readonly data: string } | undefined {
  if (!isText(url) || !url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, comma < 0 ? undefined : comma)
  return {
    type: head.split(';', 1)[0] ?? '',
    base64: head.endsWith(';base64'),
    data: comma < 0 ? '' : url.slice(comma + 1),
  }
}
