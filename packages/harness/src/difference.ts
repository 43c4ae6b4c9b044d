/** Compares values and describes where they differ, for scripts, recordings and assertions. */

import { isRecord } from '@meanwhile/core/calls'

/** One place where two values differ. `expected` and `actual` are texts, cut if they are long. */
export interface Difference {
  /** For example `body.messages[1].content`; `''` is the value itself. */
  readonly path: string
  /** The expected value. */
  readonly expected: string
  /** The actual value. */
  readonly actual: string
}

export interface Comparison {
  /** Whether members that are not expected count as differences. Default false. */
  readonly exact?: boolean
  /** May treat two different texts as equal. */
  readonly sameText?: (expected: string, actual: string) => boolean
}

/**
 * Returns where `actual` differs from `expected`. Objects are compared by the expected members, lists item by item; a
 * RegExp is searched in a text, and an expected `undefined` means that the member is missing.
 */
export function differences(expected: unknown, actual: unknown, options: Comparison = {}, path = ''): Difference[] {
  if (expected instanceof RegExp) {
    return typeof actual === 'string' && actual.search(expected) >= 0 ? [] : [difference(path, expected, actual)]
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const indices = Array.from({ length: Math.max(expected.length, actual.length) }, (_, i) => i)
    return indices.flatMap((i) => differences(expected[i], actual[i], options, `${path}[${i}]`))
  }
  if (isRecord(expected) && isRecord(actual)) {
    const names = new Set([...Object.keys(expected), ...(options.exact ? Object.keys(actual) : [])])
    return [...names].flatMap((name) =>
      differences(own(expected, name), own(actual, name), options, path ? `${path}.${name}` : name),
    )
  }
  const same =
    Object.is(expected, actual) ||
    (typeof expected === 'string' && typeof actual === 'string' && options.sameText?.(expected, actual))
  return same ? [] : [difference(path, expected, actual)]
}

/** The differences as lines of a message: the first few, and how many more there are. */
export function inWords(found: readonly Difference[]): string {
  const lines = found.slice(0, MOST).map(({ path, expected, actual }) => {
    return `\n  ${path || 'it'}: expected ${expected}, got ${actual}`
  })
  return lines.join('') + (found.length > MOST ? `\n  … and ${found.length - MOST} more` : '')
}

/** A value in a message: as JSON, cut if it is long. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value instanceof RegExp) return String(value)
  const text =
    JSON.stringify(value, (_, member) => (member instanceof RegExp ? String(member) : member)) ?? typeof value
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

const MOST = 8
const LONGEST = 160

function difference(path: string, expected: unknown, actual: unknown): Difference {
  if (typeof expected === 'string' && typeof actual === 'string') return textDifference(path, expected, actual)
  return { path, expected: shown(expected), actual: shown(actual) }
}

/** Long texts with the same beginning are shown from a little before the first difference. */
function textDifference(path: string, expected: string, actual: string): Difference {
  let at = 0
  while (at < expected.length && expected[at] === actual[at]) at++
  const from = Math.max(expected.length, actual.length) > LONGEST ? Math.max(0, at - 40) : 0
  const part = (text: string): string => (from > 0 ? '…' : '') + shown(text.slice(from))
  return { path, expected: part(expected), actual: part(actual) }
}

function own(record: { readonly [name: string]: unknown }, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
