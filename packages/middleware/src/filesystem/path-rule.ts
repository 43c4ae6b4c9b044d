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
 * @throws {SyntaxError} A pattern is invalid, or too large.
 */
export function pathRule(patterns: readonly string[]): PathRule {
  const rules = patterns.map((pattern) => pathPattern(withoutCase(pattern)))
  const isMatch = (path: string) => rules.some((matches) => matches(path))
  return {
    covers(path) {
      const names = rules.length === 0 ? [] : plainNames(path)
      return names.some((_, depth) => isMatch(names.slice(0, depth + 1).join('/')))
    },
    coversIn(folder) {
      const start = [...plainNames(folder), ''].join('/')
      return (name) => isMatch(start + plainName(name))
    },
  }
}

function plainNames(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  return names.map(plainName)
}

/**
 * File systems take different names for one file: Windows ignores dots and spaces at the end, reads `name:stream` as a
 * part of `name`, and gives `.git` the short name `GIT~1`; macOS ignores invisible characters. Git refuses the same
 * (`is_ntfs_dotgit` and `is_hfs_dotgit` in its path.c and utf8.c).
 */
function plainName(name: string): string {
  const [base = ''] = name.replace(/\p{Default_Ignorable_Code_Point}/gu, '').split(':')
  return withoutCase(base.replace(/[. ]+$/, '')).replace(/^git~\d+$/, '.git')
}

function withoutCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase()
}
