/** Checks and normalizes the paths of file tools: relative to a root, with `/` between names, and never upwards. */

import { FileError } from './file-error.ts'

const MAX_LENGTH = 4_096

/**
 * Returns the names in a path, from the root down; none for the root itself. `.` and empty names are omitted.
 *
 * @throws {FileError} `refused`: the path contains `..`, is absolute, contains a drive, a backslash, a control
 * character or a name of only dots and spaces (which some systems read as `..`), or has more than 4,096 characters.
 */
export function pathSegments(path: string): readonly string[] {
  const refuse = (problem: string) => new FileError('refused', path.slice(0, 200), problem)
  if (path.length > MAX_LENGTH) throw refuse(`a path has at most ${MAX_LENGTH} characters`)
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) throw refuse('is absolute; paths are relative to the root')
  const segments = path.split('/').filter((name) => name !== '' && name !== '.')
  for (const name of segments) {
    if (!isFileName(name)) throw refuse('leads out of its folder, or contains a backslash or a control character')
  }
  return segments
}

/**
 * Returns the normalized form of a path.
 *
 * @throws {FileError} As in {@link pathSegments}.
 */
export function plainPath(path: string): string {
  return pathSegments(path).join('/')
}

/** Whether tools can use the name. Other names are not listed. */
export function isFileName(name: string): boolean {
  return name !== '' && !/[\\/\p{Cc}]/u.test(name) && !/^[. ]+$/.test(name)
}
