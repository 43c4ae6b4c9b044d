/** All files below a folder, in the order of their paths, within bounds. */

import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { plainPath } from '../file-path.ts'

/** Not gone into from above: what is in them is seldom meant and always much. */
const SKIPPED: readonly string[] = ['.git', 'node_modules']

const MAX_ENTRIES = 20_000

export interface Walked {
  readonly files: readonly string[]
  /** Whether the walk came to its end before its bound of 20,000 entries. */
  readonly complete: boolean
}

/** A file is itself all there is below it. A folder that cannot be listed is passed over, unless it is the first. */
export async function walk(backend: FileBackend, start: string, signal: AbortSignal): Promise<Walked> {
  const first = plainPath(start)
  const stat = await backend.stat(first, { signal })
  if (stat?.kind === 'file') return { files: [first], complete: true }
  const files: string[] = []
  const open = [first]
  let left = MAX_ENTRIES
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    signal.throwIfAborted()
    const entries = await listed(backend, folder, left, folder === first, signal)
    left -= entries.length
    for (const { name, kind } of entries) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (kind === 'file') files.push(path)
      else if (kind === 'folder' && !SKIPPED.includes(name)) open.push(path)
    }
    if (left <= 0) return { files: files.sort(), complete: false }
  }
  return { files: files.sort(), complete: true }
}

async function listed(backend: FileBackend, folder: string, limit: number, isFirst: boolean, signal: AbortSignal) {
  try {
    return await backend.list(folder, { limit, signal })
  } catch (error) {
    if (isFirst || !(error instanceof FileError)) throw error
    return []
  }
}

/** What a tool says under a list that a bound has cut. */
export const INCOMPLETE: string = `(only the first ${MAX_ENTRIES} entries were looked at; give a deeper path)`
