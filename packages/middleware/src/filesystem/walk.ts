/** Collects all files below a folder, sorted by path, up to a limit. */

import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { goOn } from './go-on.ts'

/** Skipped unless the path leads into them, because they are large and rarely meant. */
const SKIPPED: readonly string[] = ['.git', 'node_modules']

const MAX_ENTRIES = 20_000
/** In characters, below the start: a pattern is matched with each path. */
const MAX_PATH = 1_000

export interface Walked {
  readonly files: readonly string[]
  /** Whether the walk finished within the limits. */
  readonly complete: boolean
}

/**
 * If the start is a file, only that file is returned. A folder that cannot be listed is skipped, unless it is the
 * start.
 */
export async function walk(backend: FileBackend, start: string, signal: AbortSignal): Promise<Walked> {
  const first = plainPath(start)
  const stat = await backend.stat(first, { signal })
  if (stat?.kind === 'file') return { files: [first], complete: true }
  const files: string[] = []
  const open = [first]
  let left = MAX_ENTRIES
  let complete = true
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const turn = goOn(signal)
    if (turn) await turn
    const entries = await listed(backend, folder, left, folder === first, signal)
    left -= entries.length
    for (const { name, kind } of entries) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (path.length > first.length + MAX_PATH) complete = false
      else if (kind === 'file') files.push(path)
      else if (kind === 'folder' && !SKIPPED.includes(name)) open.push(path)
    }
    if (left <= 0) return { files: files.sort(), complete: false }
  }
  return { files: files.sort(), complete }
}

async function listed(backend: FileBackend, folder: string, limit: number, isFirst: boolean, signal: AbortSignal) {
  try {
    return await backend.list(folder, { limit, signal })
  } catch (error) {
    if (isFirst || !(error instanceof FileError)) throw error
    return []
  }
}

/** The note that a tool adds to an incomplete list. */
export const INCOMPLETE: string = `(only the first ${MAX_ENTRIES} entries were searched, with paths of at most ${MAX_PATH} characters; give a deeper path)`
