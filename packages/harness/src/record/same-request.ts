/** Compares a request with the recorded one. */

import { type Difference, differences } from '../difference.ts'
import type { JournalEntry } from '../journal.ts'
import { REDACTED } from './secrets.ts'

/** A response for only one request: the one it was recorded with. */
export interface Replaying {
  readonly replays?: {
    readonly path: string
    readonly body: unknown
    /** Paths of differences that are ignored, including everything below them. */
    readonly ignore: readonly string[]
  }
}

/**
 * Returns where a request differs from the recorded one. Origins and headers are not compared, because they depend on
 * the client's version.
 */
export function differencesToRecorded({ url, body }: JournalEntry, { replays }: Replaying): Difference[] {
  if (!replays) return []
  const expected = { parameters: parameters(replays.path), body: replays.body }
  const found = differences(expected, { parameters: parameters(url), body }, { exact: true, sameText })
  return found.filter(({ path }) => !replays.ignore.some((ignored) => isUnder(path, ignored)))
}

function parameters(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url, 'http://recorded').searchParams)
}

function isUnder(path: string, ignored: string): boolean {
  return path.startsWith(ignored) && ['', '.', '['].includes(path.charAt(ignored.length))
}

/** A removed secret matches any text. */
function sameText(expected: string, actual: string): boolean {
  const [first = '', ...rest] = expected.split(REDACTED)
  if (rest.length === 0 || !actual.startsWith(first)) return false
  const last = rest.pop() ?? ''
  let at = first.length
  for (const part of rest) {
    const found = actual.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return actual.length - last.length >= at && actual.endsWith(last)
}
