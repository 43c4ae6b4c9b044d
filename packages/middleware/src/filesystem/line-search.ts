/** Searches lines for a pattern without holding the event loop: a long line is searched in pieces that overlap. */

import type { BoundedPattern } from './bounded-pattern.ts'
import { goOn } from './go-on.ts'

/** What a few milliseconds suffice for: characters × instructions of the program. */
const MOST_AT_ONCE = 60_000

export interface Hit {
  readonly line: string
  /** From 1. */
  readonly number: number
}

export interface SearchedLines {
  readonly hits: readonly Hit[]
  /** Whether a match that is longer than a piece may have been missed. */
  readonly mayMiss: boolean
}

/** A line break at the end of the text does not begin another line. Rejects with the signal's reason soon after it is aborted. */
export async function searchLines(text: string, pattern: BoundedPattern, signal: AbortSignal): Promise<SearchedLines> {
  const { regex, size, hasLoop } = pattern
  const most = Math.floor(MOST_AT_ONCE / Math.max(1, size))
  const hits: Hit[] = []
  let mayMiss = false
  for (let number = 1, start = 0, end: number; start < text.length; number++, start = end + 1) {
    const turn = goOn(signal)
    if (turn) await turn
    end = text.indexOf('\n', start)
    if (end === -1) end = text.length
    const line = text.slice(start, end)
    const isShort = line.length <= most
    mayMiss ||= hasLoop && !isShort
    if (isShort ? regex.test(line) : await matchesInPieces(line, pattern, most, signal)) hits.push({ line, number })
  }
  return { hits, mayMiss }
}

/** Pieces overlap by the longest match without a loop, and by one character on each side, so that `^`, `$` and `\b` see what is there. */
async function matchesInPieces(
  line: string,
  { regex, size, looksAhead }: BoundedPattern,
  most: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (let start = 0; start < line.length; start += most) {
    await goOn(signal)
    const before = start === 0 ? 0 : 1
    const piece = line.slice(start - before, start + most + size + 1)
    const isLast = start - before + piece.length >= line.length
    const matcher = regex.matcher(piece)
    // At the end of a piece, `$` would match in the middle of the line.
    if (matcher.find(before) && (isLast || !looksAhead || matcher.end() < piece.length)) return true
    if (isLast) return false
  }
  return false
}
