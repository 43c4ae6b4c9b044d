/**
 * A file backend for a directory of this machine that never accesses anything outside of it. For Node only, so it has
 * its own subpath, `@meanwhile/middleware/directory`.
 */

import { randomUUID } from 'node:crypto'
import { constants, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, lstat, open, opendir, rename, unlink } from 'node:fs/promises'
import { parse, resolve } from 'node:path'
import { ConfigError } from '@meanwhile/core'
import { digest } from './digest.ts'
import { type Folder, folderError, type OpenFolder, openFolder } from './directory/folder.ts'
import type {
  FileBackend,
  FileContent,
  FileKind,
  FileStat,
  FolderEntry,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from './file-backend.ts'
import { FileError, hasChanged, tooLarge } from './file-error.ts'
import { isFileName, pathSegments } from './file-path.ts'

/**
 * Returns a backend for a directory of this machine. Links below it are never followed. A file is opened first, and
 * read or written only after a check that it is inside. Writing replaces a file with a new one, so a reader sees either
 * the old or the new content. The remaining risks are described in `docs/middleware/filesystem.md`.
 *
 * @throws {ConfigError} `root` is not a directory, or is the root of a file system.
 */
export function directoryBackend(root: string): FileBackend {
  return new Directory(realRoot(root), openFolder)
}

function realRoot(root: string): string {
  try {
    const real = realpathSync.native(resolve(root))
    if (statSync(real).isDirectory() && real !== parse(real).root) return real
  } catch (cause) {
    throw Object.assign(new ConfigError('root', 'must be a directory'), { cause })
  }
  throw new ConfigError('root', 'must be a directory that is not the root of a file system')
}

export class Directory implements FileBackend {
  readonly #root: string
  readonly #open: OpenFolder
  /** Resolves when no write of this backend is between its check and its rename. So writes run one after another. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(root: string, open: OpenFolder) {
    this.#root = root
    this.#open = open
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const segments = pathSegments(path)
    try {
      const stats = await this.#in(segments.slice(0, -1), path, async (folder) => {
        const stats = await lstat(folder.at(segments.at(-1) ?? '.'))
        await folder.check()
        return stats
      })
      return { kind: kindOf(stats), size: stats.size, modified: stats.mtimeMs }
    } catch (error) {
      if (error instanceof FileError && error.code === 'not-found') return undefined
      throw error
    }
  }

  async list(path: string, { limit, signal }: ListOptions): Promise<readonly FolderEntry[]> {
    return await this.#in(pathSegments(path), path, async (folder) => {
      const entries: FolderEntry[] = []
      for await (const entry of await opendir(folder.at('.'))) {
        signal?.throwIfAborted()
        if (entries.length >= limit) break
        if (isFileName(entry.name)) entries.push({ name: entry.name, kind: kindOf(entry) })
      }
      await folder.check()
      return entries
    })
  }

  async read(path: string, { maxBytes }: ReadOptions): Promise<FileContent> {
    const { parents, name } = fileSegments(path)
    return await this.#in(parents, path, (folder) => content(folder, name, path, maxBytes))
  }

  async write(path: string, bytes: Uint8Array, { replaces, signal }: WriteOptions = {}): Promise<string> {
    const { parents, name } = fileSegments(path)
    const write = async (folder: Folder) => {
      const beside = `.meanwhile-${randomUUID()}.tmp`
      const { O_WRONLY, O_CREAT, O_EXCL } = constants
      const old = await existing(folder, name, path)
      await folder.check()
      let inPlace = false
      try {
        const handle = await opened(folder, beside, path, O_WRONLY | O_CREAT | O_EXCL)
        try {
          await handle.writeFile(bytes)
          if (old) await handle.chmod(old.mode & 0o777)
          await handle.sync()
        } finally {
          await handle.close()
        }
        signal?.throwIfAborted()
        await this.#inTurn(async () => {
          await checkVersion(folder, name, path, replaces)
          await folder.check()
          await rename(folder.at(beside), folder.at(name))
          inPlace = true
        })
        await folder.check()
      } finally {
        // Best effort: the original error is thrown already.
        if (!inPlace) await unlink(folder.at(beside)).catch(() => undefined)
      }
      return await versionOf(bytes)
    }
    return await this.#in(parents, path, write, { create: true })
  }

  /** Opens a folder while `work` runs. Errors of Node become a {@link FileError} without paths of the host. */
  async #in<T>(
    segments: readonly string[],
    path: string,
    work: (folder: Folder) => Promise<T>,
    { create = false }: { readonly create?: boolean } = {},
  ): Promise<T> {
    try {
      const folder = await this.#open(this.#root, segments, create)
      try {
        return await work(folder)
      } finally {
        await folder.close()
      }
    } catch (error) {
      throw folderError(path, error)
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#turn
    const mine = before.then(work)
    this.#turn = mine.catch(() => undefined)
    await mine
  }
}

function fileSegments(path: string): { readonly parents: readonly string[]; readonly name: string } {
  const segments = pathSegments(path)
  const name = segments.at(-1)
  if (name === undefined) throw new FileError('not-a-file', path, 'is a folder')
  return { parents: segments.slice(0, -1), name }
}

async function content(folder: Folder, name: string, path: string, maxBytes: number): Promise<FileContent> {
  if (!(await existing(folder, name, path))) throw new FileError('not-found', path, 'does not exist')
  const handle = await opened(folder, name, path, constants.O_RDONLY)
  try {
    const bytes = await bytesOf(handle, path, maxBytes)
    return { bytes, version: await versionOf(bytes) }
  } finally {
    await handle.close()
  }
}

/**
 * The file with this name, if it exists. It is checked before opening, because opening a device or a pipe has effects.
 */
async function existing(folder: Folder, name: string, path: string): Promise<Stats | undefined> {
  const stats = await lstat(folder.at(name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (stats?.isSymbolicLink()) throw new FileError('refused', path, 'is a link, and links are not followed')
  if (stats && !stats.isFile())
    throw new FileError('not-a-file', path, stats.isDirectory() ? 'is a folder' : 'is not a file')
  return stats
}

/** Opens a file and checks that it is inside before anything is read or written. */
async function opened(folder: Folder, name: string, path: string, flags: number): Promise<FileHandle> {
  // Windows has neither flag; there only `folder.check` protects.
  const handle = await open(folder.at(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o666)
  try {
    if (!(await handle.stat()).isFile()) throw new FileError('not-a-file', path, 'is not a file')
    await folder.check({ name, handle })
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Requests one byte more than expected, in case the file has grown since its size was read. */
async function bytesOf(handle: FileHandle, path: string, maxBytes: number): Promise<Uint8Array> {
  const { size } = await handle.stat()
  if (size > maxBytes) throw tooLarge(path, size, maxBytes)
  const buffer = new Uint8Array(Math.min(size, maxBytes) + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  if (length > size) throw new FileError('changed', path, 'grew while it was being read')
  return buffer.slice(0, length)
}

/** The version begins with the size, so a file of another size can be detected without reading it. */
async function versionOf(bytes: Uint8Array): Promise<string> {
  return `${bytes.length}-${await digest(bytes)}`
}

async function checkVersion(folder: Folder, name: string, path: string, replaces?: string | null): Promise<void> {
  const stats = await existing(folder, name, path)
  if (replaces === undefined || (replaces === null && !stats)) return
  const isOfSize = stats && replaces?.startsWith(`${stats.size}-`)
  if (isOfSize && (await content(folder, name, path, stats.size)).version === replaces) return
  throw hasChanged(path, replaces)
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileKind {
  if (entry.isFile()) return 'file'
  return entry.isDirectory() ? 'folder' : 'other'
}
