/** Compiles a pattern of the model if its program is small, so that a short text is searched in a few milliseconds. */

import { RE2JS } from 're2js'

/** What RE2 needs for one character is linear in this number. */
const MAX_SIZE = 450
/** In characters: each bracket that is never closed is searched to the end of the pattern. */
const MAX_LENGTH = 5_000

export interface BoundedPattern {
  readonly regex: RE2JS
  /** At least the number of instructions of the program, and so at least the length of a match that has no loop. */
  readonly size: number
  /** Whether a match may have any length. */
  readonly hasLoop: boolean
  /** Whether what follows a match can decide about it. */
  readonly looksAhead: boolean
}

/** @throws {Error} The pattern is invalid, or a `SyntaxError`: it is too long, or its program too large. */
export function boundedPattern(source: string, flags = 0): BoundedPattern {
  if (source.length > MAX_LENGTH) throw new SyntaxError(`a pattern has at most ${MAX_LENGTH} characters`)
  const facts = factsOf(source)
  if (facts.size > MAX_SIZE)
    throw new SyntaxError(
      `the pattern is too large (${facts.size} of at most ${MAX_SIZE} instructions); write a shorter one, with smaller repetition counts`,
    )
  return { ...facts, regex: RE2JS.compile(source, flags) }
}

/** A quotation; an escape with braces; another escape; a class; flags; a group that begins; a repetition; any other character. */
const TOKENS =
  /\\Q.*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?[\w-]*\)|\((?:\?[^:>)]*[:>])?|\{(\d+)(,?)(\d*)\}|./gs

/** Counts without compiling: `(.{1000}){1000}` would compile for minutes. */
function factsOf(source: string): Omit<BoundedPattern, 'regex'> {
  let hasLoop = false
  let looksAhead = false
  let last = 0
  let size = 0
  const outside: number[] = []
  for (const [token, least, comma, most] of source.matchAll(TOKENS)) {
    if (least !== undefined) {
      hasLoop ||= comma !== '' && most === ''
      const more = (last + 1) * Math.max(Number(least), Number(most), 1)
      size += more
      last += more
    } else if (token.startsWith('(') && !token.endsWith(')')) {
      outside.push(size)
      size = 0
    } else if (token === ')') {
      last = size + 2
      size = (outside.pop() ?? 0) + last
    } else if (!token.startsWith('(')) {
      hasLoop ||= token === '*' || token === '+'
      looksAhead ||= token === '$' || /^\\[bBzQ]/.test(token)
      const isRepetition = token === '*' || token === '+' || token === '?'
      last = isRepetition ? last + 1 : Math.max(1, token.startsWith('\\Q') ? token.length : 1)
      size += isRepetition ? 1 : last
    }
  }
  return { size: outside.reduce((sum, before) => sum + before, size), hasLoop, looksAhead }
}
