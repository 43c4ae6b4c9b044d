/** Glob patterns, matched in time linear in the path, whatever the pattern: by way of RE2. */

import { RE2JS } from 're2js'

/**
 * Whether a path matches: `*` and `?` stay within a name, `**` as a whole name goes over any number of folders, `[a-z]` and `[!a-z]`
 * are one character of these or none of these, `{a,b}` is either, a backslash takes the next character as it is. Names that begin
 * with a dot match like any other.
 *
 * @throws {SyntaxError} It is no pattern.
 */
export function globPattern(pattern: string): (path: string) => boolean {
  if (pattern.length > 1_000) throw new SyntaxError('a pattern has at most 1,000 characters')
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(`^(?:${regexOf(pattern)})$`, RE2JS.DOTALL)
  } catch (cause) {
    throw new SyntaxError(`"${pattern}" is no glob pattern`, { cause })
  }
  return (path) => compiled.test(path)
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
  // What is not named is no slash either.
  return negated ? `[^/${members}]` : `[${members}]`
}
