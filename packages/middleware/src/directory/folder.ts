/**
 * Opens a folder below a root so that operations stay inside it. Node has no `openat`: on Linux a name is accessed
 * through `/proc/self/fd`, which is equivalent; elsewhere by its path, which is checked again after each opening.
 */

import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { FileError } from '../file-error.ts'

export interface Folder {
  /** The system's path of a name in this folder. `.` is the folder itself. */
  at(name: string): string
  /**
   * Throws {@link FileError} unless the folder is still at its place, and still contains the file `opened`, if given.
   */
  check(opened?: { readonly name: string; readonly handle: FileHandle }): Promise<void>
  close(): Promise<void>
}

/** Descends from a root that is a real path, without following links; `create` makes missing folders. */
export type OpenFolder = (root: string, segments: readonly string[], create: boolean) => Promise<Folder>

/** Opens each folder from the descriptor of the one before, so nobody can insert a link between two steps. */
export const openByDescriptor: OpenFolder = async (root, segments, create) => {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  let handle = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  const at = (name: string) => `/proc/self/fd/${handle.fd}/${name}`
  const check = async (path: string) => {
    if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== path) throw moved(segments)
  }
  try {
    await check(root)
    for (const name of segments) {
      if (create) await mkdir(at(name)).catch(unlessThere)
      const inner = await open(at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      await handle.close()
      handle = inner
    }
  } catch (error) {
    await handle.close()
    throw error
  }
  const path = join(root, ...segments)
  return { at, check: () => check(path), close: () => handle.close() }
}

/** Opens each folder by its path, which is checked before and after each opening. */
export const openByPath: OpenFolder = async (root, segments, create) => {
  let path = root
  await checkReal(path, segments)
  for (const name of segments) {
    path = join(path, name)
    if (create) await mkdir(path).catch(unlessThere)
    if (!(await lstat(path)).isDirectory()) throw noFolder(segments)
    await checkReal(path, segments)
  }
  return {
    at: (name) => join(path, name),
    async check(opened) {
      const real = opened ? join(path, opened.name) : path
      await checkReal(real, segments)
      if (!opened) return
      const [held, found] = await Promise.all([opened.handle.stat({ bigint: true }), lstat(real, { bigint: true })])
      if (held.ino !== found.ino || held.dev !== found.dev) throw moved(segments)
    },
    close: () => Promise.resolve(),
  }
}

export const openFolder: OpenFolder =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? openByDescriptor : openByPath

/** On case-insensitive systems the real path also shows whether the name is written correctly. */
async function checkReal(path: string, segments: readonly string[]): Promise<void> {
  const real = await realpath(path)
  if (real.normalize('NFC') !== path.normalize('NFC')) throw moved(segments)
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

function moved(segments: readonly string[]): FileError {
  return new FileError('refused', segments.join('/'), 'leads elsewhere, is spelled differently, or was moved meanwhile')
}

function noFolder(segments: readonly string[]): FileError {
  return new FileError('refused', segments.join('/'), 'a part of the path is a link or not a folder')
}

/** Converts an error of the system: it keeps the kind and removes paths of the host. */
export function folderError(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const options = { cause: error }
  switch (error.code) {
    case 'ENOENT':
      return new FileError('not-found', path, 'does not exist', options)
    case 'ELOOP':
    case 'ENOTDIR':
      return new FileError('refused', path, 'a part of the path is a link or not a folder', options)
    case 'EISDIR':
      return new FileError('not-a-file', path, 'is a folder', options)
    default:
      return new FileError('failed', path, `the storage failed (${String(error.code)})`, options)
  }
}
