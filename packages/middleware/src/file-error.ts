/** What went wrong with a file. It concerns one call alone: the model reads it as an error result. */

/**
 * - `refused`: the path leads out of the root, or is none.
 * - `not-found`, `not-a-file`, `not-a-folder`: what is there, or is not.
 * - `too-large`: more bytes than allowed.
 * - `changed`: it is not what it was when it was read.
 * - `failed`: the storage itself said no.
 */
export type FileErrorCode = 'refused' | 'not-found' | 'not-a-file' | 'not-a-folder' | 'too-large' | 'changed' | 'failed'

export class FileError extends Error {
  override readonly name = 'FileError'
  readonly code: FileErrorCode
  /** As it was asked for: relative to the root, never the host's own path. */
  readonly path: string

  constructor(code: FileErrorCode, path: string, problem: string, options?: { readonly cause?: unknown }) {
    super(`${path === '' ? '.' : path}: ${problem}`, options)
    this.code = code
    this.path = path
  }
}

/** The error of a file that has more bytes than allowed. */
export function tooLarge(path: string, size: number, maxBytes: number): FileError {
  return new FileError('too-large', path, `has ${size} bytes, and no more than ${maxBytes} are allowed`)
}

/** The error of a file that is not what a writer thinks it replaces. */
export function hasChanged(path: string, replaces: string | null): FileError {
  const problem = replaces === null ? 'is there already' : 'has changed since it was read'
  return new FileError('changed', path, `${problem}; read it, then try again`)
}
