/** The interface of a file store for file tools: four methods, so that any kind of store can implement it. */

import { ConfigError } from '@meanwhile/core'

/**
 * A file store for the file tools. Paths are relative to the backend's root, with `/` between names; `''` and `.` are
 * the root itself. A backend must check each path, at least with `pathSegments`: for a path outside its root it rejects
 * with a `FileError` `refused`. If it is not aborted, every method rejects only with a `FileError`, whose message the
 * model reads.
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

/** The options of every operation of a file backend. */
export interface FileOptions {
  /** Aborts the operation, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** The options of `list`. */
export interface ListOptions extends FileOptions {
  /** The maximum number of entries. */
  readonly limit: number
}

/** The options of `read`. */
export interface ReadOptions extends FileOptions {
  /** The maximum size in bytes. A larger file rejects with `too-large`. */
  readonly maxBytes: number
}

/** The options of `write`. */
export interface WriteOptions extends FileOptions {
  /**
   * The version that the write replaces, or `null` for a new file. Rejects with `changed` if the file has another
   * version. Default: any version.
   */
  readonly replaces?: string | null
}

/** `other`: a link, a device or anything else that tools do not open. */
export type FileKind = 'file' | 'folder' | 'other'

/** An entry of a folder. */
export interface FolderEntry {
  /** The name, without the path. */
  readonly name: string
  /** `other`: a link, a device or anything else that tools do not open. */
  readonly kind: FileKind
}

/** What a backend knows about a file or folder without reading it. */
export interface FileStat {
  /** Whether it is a file or a folder. */
  readonly kind: FileKind
  /** In bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

/** The content of a file. */
export interface FileContent {
  /** The bytes. */
  readonly bytes: Uint8Array
  /** A string that differs whenever the content differs. */
  readonly version: string
}

/** @throws {ConfigError} It is not a file backend. */
export function checkBackend(backend: FileBackend): void {
  if (typeof backend?.read !== 'function' || typeof backend.write !== 'function')
    throw new ConfigError('backend', 'is missing, or is not a file backend')
}
