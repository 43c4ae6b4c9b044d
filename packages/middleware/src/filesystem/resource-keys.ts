/** The resource keys that a file tool's call reads and writes; calls that share a key do not run at the same time. */

import { pathSegments } from '../file-path.ts'

/**
 * The key of a file. Because some systems ignore case, two spellings share one key; at worst a call waits
 * unnecessarily.
 */
export function fileKey(path: string): string[] {
  return keyed(path, (segments) => [`file:${segments.join('/')}`])
}

/** The keys of a path and everything below it, for listing and searching. */
export function treeKeys(path: string): string[] {
  return keyed(path, (segments) => [`file:${segments.join('/')}`, `file:${[...segments, ''].join('/')}`])
}

/** The keys of a file that is changed: its own, and those of the folders that contain it. */
export function changeKeys(path: string): string[] {
  return keyed(path, (segments) => [
    `file:${segments.join('/')}`,
    ...segments.map((_, depth) => `file:${[...segments.slice(0, depth), ''].join('/')}`),
  ])
}

/** Returns the keys of a path; none for a path that is refused. */
function keyed(path: string, keys: (segments: readonly string[]) => string[]): string[] {
  try {
    return keys(pathSegments(path).map((name) => name.normalize('NFC').toLowerCase()))
  } catch {
    return []
  }
}
