/** The interface of a file store for file tools: four methods, so that any kind of store can implement it. */

import { ConfigError } from '@meanwhile/core'

/**
 * A file store for the file tools. Paths are relative to the backend's root, with `/` between names; `''` and `.` are
 * the root itself. A backend must check each path, at least with `pathSegments`: for a path outside its root it rejects
 * with a `FileError` `refused`. All methods reject with a `FileError`, whose message the model reads.
 */
export interface FileBackend {
  /** Returns the kind, size and time of a file or folder; `undefined` if it does not exist. Follows no link. */
  stat(path: string, options?: FileOptions): Promise<FileStat | undefined>
  /** Returns the entries of a folder, in any order, at most `limit`. */
  list(path: string, options: ListOptions): Promise<readonly FolderEntry[]>
  /** Returns a whole file; rejects with `too-large` if it has more than `maxBytes`. */
  read(path: string, options: ReadOptions): Promise<FileContent>
  /** Writes a whole file atomically and creates missing folders. Returns the new version. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<string>
}

export interface FileOptions {
  readonly signal?: AbortSignal | undefined
}

export interface ListOptions extends FileOptions {
  readonly limit: number
}

export interface ReadOptions extends FileOptions {
  readonly maxBytes: number
}

export interface WriteOptions extends FileOptions {
  /**
   * The version that the write replaces, or `null` for a new file. Rejects with `changed` if the file has another
   * version. Default: any version.
   */
  readonly replaces?: string | null
}

export type FileKind = 'file' | 'folder' | 'other'

export interface FolderEntry {
  readonly name: string
  /** `other`: a link, a device or anything else that tools do not open. */
  readonly kind: FileKind
}

export interface FileStat {
  readonly kind: FileKind
  /** In bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

export interface FileContent {
  readonly bytes: Uint8Array
  /** A string that differs whenever the content differs. */
  readonly version: string
}

/** @throws {ConfigError} It is not a file backend. */
export function checkBackend(backend: FileBackend): void {
  if (typeof backend?.read !== 'function' || typeof backend.write !== 'function')
    throw new ConfigError('backend', 'is missing, or is not a file backend')
}
