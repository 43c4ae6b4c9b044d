/** Paths as file tools take them: relative to a root, `/` between names, and no way up. */

import { FileError } from './file-error.ts'

const MAX_LENGTH = 4_096

/**
 * The names on a path, from the root down; none for the root itself. `.` and empty names are left out.
 *
 * @throws {FileError} `refused`: `..` anywhere, an absolute path, a drive, a backslash, a control character, a name of dots and
 *   spaces alone (some systems read it as `..`), or more than 4,096 characters.
 */
export function pathSegments(path: string): readonly string[] {
  const refuse = (problem: string) => new FileError('refused', path.slice(0, 200), problem)
  if (path.length > MAX_LENGTH) throw refuse(`a path has at most ${MAX_LENGTH} characters`)
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) throw refuse('is absolute; paths are relative to the root')
  const segments = path.split('/').filter((name) => name !== '' && name !== '.')
  for (const name of segments) {
    if (!isFileName(name)) throw refuse('leads out of its folder, or holds a backslash or a control character')
  }
  return segments
}

/** The one way to write a path. @throws {FileError} as {@link pathSegments}. */
export function plainPath(path: string): string {
  return pathSegments(path).join('/')
}

/** Whether tools can name it: what cannot be named is not listed. */
export function isFileName(name: string): boolean {
  return name !== '' && !/[\\/\p{Cc}]/u.test(name) && !/^[. ]+$/.test(name)
}
