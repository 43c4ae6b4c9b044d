/** Where the file tools keep files: four methods, so that a store of any kind can stand behind them. */

import { ConfigError } from '@meanwhile/core'

/**
 * Paths are relative to the backend's root, with `/` between names; `''` and `.` are the root itself. A backend never trusts
 * them: what leads out of its root is a `FileError` `refused`, by `pathSegments` at the least. All methods reject with
 * a `FileError`, whose message is what the model reads.
 */
export interface FileBackend {
  /** What stands at a path; `undefined` if nothing does. Follows no link. */
  stat(path: string, options?: FileOptions): Promise<FileStat | undefined>
  /** What a folder holds, in any order, at most `limit` entries. */
  list(path: string, options: ListOptions): Promise<readonly FolderEntry[]>
  /** The whole of a file; `too-large` if it has more than `maxBytes`. */
  read(path: string, options: ReadOptions): Promise<FileContent>
  /** Puts the whole of a file in place at once, with the folders it needs. Gives the new version. */
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
  /** The version this replaces, `null` for a file not yet there; `changed` if that is not what is there. Default: whatever is. */
  readonly replaces?: string | null
}

export type FileKind = 'file' | 'folder' | 'other'

export interface FolderEntry {
  readonly name: string
  /** `other`: a link, a device … which no tool opens. */
  readonly kind: FileKind
}

export interface FileStat {
  readonly kind: FileKind
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

export interface FileContent {
  readonly bytes: Uint8Array
  /** A text that is another whenever the content is. */
  readonly version: string
}

/** @throws {ConfigError} It is none. */
export function checkBackend(backend: FileBackend): void {
  if (typeof backend?.read !== 'function' || typeof backend.write !== 'function')
    throw new ConfigError('backend', 'is missing, or is no file backend')
}
