/** What a file tool's call reads and writes, as keys: calls that share one are not made at once. */

import { pathSegments } from '../file-path.ts'

/** The key of a file. Some systems take a name in any case: two spellings are one key, at worst one wait too many. */
export function fileKey(path: string): string[] {
  return keyed(path, (segments) => [`file:${segments.join('/')}`])
}

/** The keys of what is at a path and all that is below it: for what lists or searches it. */
export function treeKeys(path: string): string[] {
  return keyed(path, (segments) => [`file:${segments.join('/')}`, `file:${[...segments, ''].join('/')}`])
}

/** The keys of a file that changes: its own, and those of the folders it is in. */
export function changeKeys(path: string): string[] {
  return keyed(path, (segments) => [
    `file:${segments.join('/')}`,
    ...segments.map((_, depth) => `file:${[...segments.slice(0, depth), ''].join('/')}`),
  ])
}

/** A path that is refused touches nothing. */
function keyed(path: string, keys: (segments: readonly string[]) => string[]): string[] {
  try {
    return keys(pathSegments(path).map((name) => name.normalize('NFC').toLowerCase()))
  } catch {
    return []
  }
}
