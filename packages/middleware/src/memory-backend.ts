/** A file backend in memory: for tests, browsers, and files that need not survive the process. */

import { digest } from './digest.ts'
import type { FileBackend, FileKind } from './file-backend.ts'
import { FileError, hasChanged, tooLarge } from './file-error.ts'
import { pathSegments, plainPath } from './file-path.ts'

interface StoredFile {
  readonly bytes: Uint8Array
  readonly modified: number
}

/**
 * Returns a new backend with these files. Contents are copied on the way in and out. A folder exists while it contains
 * a file.
 */
export function memoryBackend(files: Readonly<Record<string, string | Uint8Array>> = {}): FileBackend {
  const stored = new Map<string, StoredFile>()
  for (const [path, content] of Object.entries(files)) put(stored, plainPath(path), bytesOf(content))
  return {
    async stat(path) {
      const plain = plainPath(path)
      const file = stored.get(plain)
      if (file) return { kind: 'file', size: file.bytes.length, modified: file.modified }
      return isFolder(stored, plain) ? { kind: 'folder', size: 0, modified: 0 } : undefined
    },
    async list(path, { limit }) {
      const plain = plainPath(path)
      if (stored.has(plain)) throw new FileError('not-a-folder', plain, 'is a file, not a folder')
      if (!isFolder(stored, plain)) throw new FileError('not-found', plain, 'does not exist')
      const start = plain === '' ? 0 : plain.length + 1
      const entries = new Map<string, FileKind>()
      for (const other of stored.keys()) {
        if (!isBelow(other, plain)) continue
        const end = other.indexOf('/', start)
        entries.set(other.slice(start, end === -1 ? undefined : end), end === -1 ? 'file' : 'folder')
        if (entries.size >= limit) break
      }
      return [...entries].map(([name, kind]) => ({ name, kind }))
    },
    async read(path, { maxBytes }) {
      const plain = plainPath(path)
      const file = stored.get(plain)
      if (!file) {
        if (isFolder(stored, plain)) throw new FileError('not-a-file', plain, 'is a folder')
        throw new FileError('not-found', plain, 'does not exist')
      }
      if (file.bytes.length > maxBytes) throw tooLarge(plain, file.bytes.length, maxBytes)
      const bytes = file.bytes.slice()
      return { bytes, version: await digest(bytes) }
    },
    async write(path, bytes, { replaces } = {}) {
      const plain = plainPath(path)
      const copy = bytes.slice()
      const version = await digest(copy)
      while (replaces !== undefined) {
        const file = stored.get(plain)
        const there = file ? await digest(file.bytes) : null
        // Check that nobody else has written while the digest was computed.
        if (stored.get(plain) !== file) continue
        if (there !== replaces) throw hasChanged(plain, replaces)
        break
      }
      put(stored, plain, copy)
      return version
    },
  }
}

function put(stored: Map<string, StoredFile>, path: string, bytes: Uint8Array): void {
  if (isFolder(stored, path)) throw new FileError('not-a-file', path, 'is a folder')
  const segments = pathSegments(path)
  for (let depth = 1; depth < segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (stored.has(folder)) throw new FileError('not-a-folder', path, `${folder} is a file, not a folder`)
  }
  stored.set(path, { bytes, modified: Date.now() })
}

function isFolder(stored: ReadonlyMap<string, StoredFile>, path: string): boolean {
  return path === '' || [...stored.keys()].some((other) => isBelow(other, path))
}

function isBelow(path: string, folder: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`)
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content.slice()
}
