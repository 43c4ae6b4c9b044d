/** Matches glob patterns in time linear in the path, whatever the pattern, by compiling them to RE2. */

import { RE2JS } from 're2js'
import { boundedPattern } from './bounded-pattern.ts'

const MAX_LENGTH = 250

/**
 * Returns a function that checks whether a path matches: `*` and `?` match within a name; `**` as a whole name matches
 * any number of folders; `[a-z]` and `[!a-z]` match one character of the set, or one outside of it; `{a,b}` matches
 * either; a backslash escapes the next character. Names that begin with a dot match like any other.
 *
 * @throws {SyntaxError} The pattern is invalid, or too large.
 */
export function globPattern(pattern: string): (path: string) => boolean {
  if (pattern.length > MAX_LENGTH) throw new SyntaxError(`a pattern has at most ${MAX_LENGTH} characters`)
  try {
    const { regex } = boundedPattern(`^(?:${regexOf(pattern)})$`, RE2JS.DOTALL)
    return (path) => regex.test(path)
  } catch (cause) {
    if (cause instanceof SyntaxError) throw cause
    throw new SyntaxError(`"${pattern}" is not a valid glob pattern`, { cause })
  }
}

/** As {@link globPattern}, but a pattern without a slash matches names in any folder. */
export function pathPattern(pattern: string): (path: string) => boolean {
  return globPattern(pattern.includes('/') ? pattern : `**/${pattern}`)
}

const TOKENS = /\*\*\/|\/\*\*$|^\*\*$|\*+|\?|\[!?\]?[^\]/]*\]|\\.|[{},]|./gs

function regexOf(pattern: string): string {
  let regex = ''
  let depth = 0
  let before = '/'
  for (const [token] of pattern.matchAll(TOKENS)) {
    if (token === '**/') regex += before === '/' ? '(?:[^/]+/)*' : '[^/]*/'
    else if (token === '/**') regex += '/.+'
    else if (token === '**') regex += '.+'
    else if (token.startsWith('*')) regex += '[^/]*'
    else if (token === '?') regex += '[^/]'
    else if (token.length > 2 && token.startsWith('[')) regex += characterClass(token)
    else if (token === '{') {
      depth++
      regex += '(?:'
    } else if (token === '}' && depth > 0) {
      depth--
      regex += ')'
    } else if (token === ',' && depth > 0) regex += '|'
    else regex += RE2JS.quote(token.length === 2 && token.startsWith('\\') ? token.slice(1) : token)
    before = token.at(-1) ?? '/'
  }
  return regex
}

function characterClass(token: string): string {
  const negated = token.startsWith('[!')
  const members = token.slice(negated ? 2 : 1, -1).replace(/[\\[\]^]/g, '\\$&')
  // A negated set does not match a slash.
  return negated ? `[^/${members}]` : `[${members}]`
}
