/** A file backend in memory: for tests, browsers, and files that need not survive the process. */

import { digest } from './digest.ts'
import type { FileBackend, FolderEntry } from './file-backend.ts'
import { FileError, hasChanged, tooLarge } from './file-error.ts'
import { pathSegments, plainPath } from './file-path.ts'

interface StoredFile {
  readonly kind: 'file'
  readonly bytes: Uint8Array
  readonly modified: number
}

interface StoredFolder {
  readonly kind: 'folder'
  /** By name. */
  readonly entries: Map<string, StoredFile | StoredFolder>
}

/**
 * Returns a new backend with these files. Contents are copied on the way in and out. A folder exists if it contains a
 * file.
 */
export function memoryBackend(files: Readonly<Record<string, string | Uint8Array>> = {}): FileBackend {
  const root = newFolder()
  for (const [path, content] of Object.entries(files)) put(root, path, bytesOf(content))
  return {
    async stat(path) {
      const found = at(root, path)
      if (found?.kind === 'file') return { kind: 'file', size: found.bytes.length, modified: found.modified }
      return found && { kind: 'folder', size: 0, modified: 0 }
    },
    async list(path, { limit }) {
      const found = at(root, path)
      if (!found) throw notFound(path)
      if (found.kind === 'file') throw new FileError('not-a-folder', plainPath(path), 'is a file, not a folder')
      const listed: FolderEntry[] = []
      for (const [name, { kind }] of found.entries) {
        if (listed.length >= limit) break
        listed.push({ name, kind })
      }
      return listed
    },
    async read(path, { maxBytes }) {
      const found = at(root, path)
      if (!found) throw notFound(path)
      if (found.kind === 'folder') throw isFolder(path)
      if (found.bytes.length > maxBytes) throw tooLarge(plainPath(path), found.bytes.length, maxBytes)
      const bytes = found.bytes.slice()
      return { bytes, version: await digest(bytes) }
    },
    async write(path, bytes, { replaces } = {}) {
      const copy = bytes.slice()
      const version = await digest(copy)
      while (replaces !== undefined) {
        const found = at(root, path)
        const there = found?.kind === 'file' ? await digest(found.bytes) : null
        // Check that nobody else has written while the digest was computed.
        if (at(root, path) !== found) continue
        if (there !== replaces) throw hasChanged(plainPath(path), replaces)
        break
      }
      put(root, path, copy)
      return version
    },
  }
}

function newFolder(): StoredFolder {
  return { kind: 'folder', entries: new Map() }
}

function at(root: StoredFolder, path: string): StoredFile | StoredFolder | undefined {
  let found: StoredFile | StoredFolder | undefined = root
  for (const name of pathSegments(path)) found = found?.kind === 'folder' ? found.entries.get(name) : undefined
  return found
}

/** Creates missing folders, and none if it throws: below a new folder there is nothing in the way. */
function put(root: StoredFolder, path: string, bytes: Uint8Array): void {
  const segments = pathSegments(path)
  let folder = root
  for (const [depth, name] of segments.slice(0, -1).entries()) {
    const next = folder.entries.get(name) ?? newFolder()
    if (next.kind === 'file') {
      const file = segments.slice(0, depth + 1).join('/')
      throw new FileError('not-a-folder', plainPath(path), `${file} is a file, not a folder`)
    }
    folder.entries.set(name, next)
    folder = next
  }
  const name = segments.at(-1)
  if (name === undefined || folder.entries.get(name)?.kind === 'folder') throw isFolder(path)
  folder.entries.set(name, { kind: 'file', bytes, modified: Date.now() })
}

function notFound(path: string): FileError {
  return new FileError('not-found', plainPath(path), 'does not exist')
}

function isFolder(path: string): FileError {
  return new FileError('not-a-file', plainPath(path), 'is a folder')
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content.slice()
}
