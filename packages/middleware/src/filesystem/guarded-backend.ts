/** Keeps a backend's protected files from being written, and its hidden ones from being seen. */

import type { FileBackend, FolderEntry, ListOptions } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { plainPath } from '../file-path.ts'
import { goOn } from './go-on.ts'
import { pathRule } from './path-rule.ts'

export interface PathRules {
  readonly protect: readonly string[]
  readonly hide: readonly string[]
}

/**
 * Returns the backend with these rules. What they refuse rejects with a {@link FileError} that names the option.
 *
 * @throws {SyntaxError} A pattern is invalid, or too large.
 */
export function guardedBackend(backend: FileBackend, { protect, hide }: PathRules): FileBackend {
  const protectedFiles = pathRule(protect)
  const hiddenFiles = pathRule(hide)
  const shown = (path: string) => {
    const plain = plainPath(path)
    if (hiddenFiles.covers(plain)) throw new FileError('refused', plain, 'is hidden by the option hide')
    return plain
  }
  const writable = (path: string) => {
    const plain = plainPath(path)
    if (protectedFiles.covers(plain)) throw new FileError('refused', plain, 'is protected by the option protect')
    return shown(plain)
  }

  /** Asks for more entries while hidden ones take the place of others. */
  async function list(path: string, options: ListOptions): Promise<readonly FolderEntry[]> {
    const isHidden = hiddenFiles.coversIn(path)
    for (let limit = options.limit; ; limit *= 2) {
      const all = await backend.list(path, { ...options, limit })
      const entries: FolderEntry[] = []
      for (const entry of all) {
        const turn = goOn(options.signal)
        if (turn) await turn
        if (!isHidden(entry.name)) entries.push(entry)
      }
      if (entries.length >= options.limit || all.length < limit) return entries.slice(0, options.limit)
    }
  }

  return {
    stat: async (path, options) => await backend.stat(shown(path), options),
    list: async (path, options) => await list(shown(path), options),
    read: async (path, options) => await backend.read(shown(path), options),
    write: async (path, bytes, options) => await backend.write(writable(path), bytes, options),
  }
}
