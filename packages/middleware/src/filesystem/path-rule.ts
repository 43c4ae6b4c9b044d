/** A list of glob patterns as a rule about paths that no other spelling of a path escapes. */

import { pathPattern } from './glob-pattern.ts'

export interface PathRule {
  /** Whether the path, or a folder that contains it, matches one of the patterns. */
  covers(path: string): boolean
  /** As `covers`, for the names in a folder that is not covered itself. */
  coversIn(folder: string): (name: string) => boolean
}

/**
 * A pattern without a slash matches names in any folder.
 *
 * @throws {SyntaxError} A pattern is invalid, too large, empty, or contains `..`.
 */
export function pathRule(patterns: readonly string[]): PathRule {
  const rules = patterns.flatMap((pattern) => {
    const names = namesIn(withoutCase(pattern))
    if (names.length === 0 || names.includes('..')) throw new SyntaxError(`${JSON.stringify(pattern)} matches no path`)
    const plain = names.join('/')
    return [pathPattern(plain), pathPattern(plain.includes('/') ? `${plain}/**` : `**/${plain}/**`)]
  })
  if (rules.length === 0) return { covers: () => false, coversIn: () => () => false }
  const isMatch = (path: string) => rules.some((matches) => matches(path))
  return {
    covers(path) {
      const names = namesIn(path)
      return isMatch(names.map(withoutCase).join('/')) || isMatch(names.map(plainName).join('/'))
    },
    coversIn(folder) {
      const names = namesIn(folder)
      const start = [...names.map(withoutCase), ''].join('/')
      const plain = [...names.map(plainName), ''].join('/')
      return (name) => isMatch(start + withoutCase(name)) || isMatch(plain + plainName(name))
    },
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/**
 * File systems take different names for one file: Windows ignores dots and spaces at the end, reads `name:stream` as a
 * part of `name`, and gives `.git` the short name `GIT~1`; macOS ignores invisible characters. Git refuses the same
 * (`is_ntfs_dotgit` and `is_hfs_dotgit` in its path.c and utf8.c).
 */
function plainName(name: string): string {
  const [base = ''] = name.replace(/\p{Default_Ignorable_Code_Point}/gu, '').split(':')
  // Without the look-behind, each dot of a name that does not end with them would begin a search.
  const plain = base.replace(/(?<![. ])[. ]+$/, '')
  // If nothing is left, it does not spell another name.
  return plain === '' ? withoutCase(name) : withoutCase(plain).replace(/^git~\d+$/, '.git')
}

/** Upper case comes first, because some letters, such as `ſ`, share it with a letter that has another lower case. */
function withoutCase(text: string): string {
  return text.normalize('NFC').replace(/./gsu, (one) => {
    const upper = one.toUpperCase()
    return (upper.length === one.length ? upper : one).toLowerCase()
  })
}
