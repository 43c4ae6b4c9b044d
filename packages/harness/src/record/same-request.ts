/** Whether a request is the one that was recorded. */

import { type Difference, differences } from '../difference.ts'
import type { JournalEntry } from '../journal.ts'
import { REDACTED } from './secrets.ts'

/** A response that answers one request alone: the one it was recorded with. */
export interface Replaying {
  readonly replays?: {
    readonly path: string
    readonly body: unknown
    /** Paths of differences that do not count, and all below them. */
    readonly ignore: readonly string[]
  }
}

/** Where a request is not the recorded one. Places are not compared, nor headers: clients come in versions. */
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

/** Where a secret was, any text may be. */
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
