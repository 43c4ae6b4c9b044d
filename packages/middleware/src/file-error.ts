/** The error of a file operation. It concerns only one call: the model reads it as an error result. */

import { BrandedError } from '@meanwhile/core/calls'

/**
 * - `refused`: the path is invalid or outside of the root.
 * - `not-found`, `not-a-file`, `not-a-folder`: the path does not exist, or is of the wrong kind.
 * - `too-large`: the file has more bytes than allowed.
 * - `changed`: the file has changed since it was read.
 * - `failed`: the storage itself failed.
 */
export type FileErrorCode = 'refused' | 'not-found' | 'not-a-file' | 'not-a-folder' | 'too-large' | 'changed' | 'failed'

/** An operation of a file backend failed. The message names only the requested path. */
export class FileError extends BrandedError {
  static override readonly brand: string = 'FileError'
  /** What went wrong. */
  readonly code: FileErrorCode
  /** The requested path, relative to the root, never the path on the host. */
  readonly path: string

  constructor(code: FileErrorCode, path: string, problem: string, options?: { readonly cause?: unknown }) {
    super(`${path === '' ? '.' : path}: ${problem}`, options)
    this.code = code
    this.path = path
  }
}

/** The error for a file with more bytes than allowed. */
export function tooLarge(path: string, size: number, maxBytes: number): FileError {
  return new FileError('too-large', path, `has ${size} bytes, but at most ${maxBytes} are allowed`)
}

/** The error for a file that does not have the version that a write replaces. */
export function hasChanged(path: string, replaces: string | null): FileError {
  const problem = replaces === null ? 'already exists' : 'has changed since it was read'
  return new FileError('changed', path, `${problem}; read it, then try again`)
}
