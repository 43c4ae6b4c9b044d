/** Of a stream only one response is read, from its beginning to its end. */

import type { ReadChunk } from '@meanwhile/core'

/** A second response begins in the stream of the first: a gateway has asked its provider again. */
export class RestartedError extends Error {
  override readonly name = 'RestartedError'

  constructor() {
    super('a second response began in the stream of the first')
  }
}

export interface Bounds<Chunk> {
  /** The response that begins with this chunk, if one does. */
  begins(chunk: Chunk): { readonly id?: string | null | undefined } | undefined
  /** Whether the protocol ends with this chunk. */
  isLast(chunk: Chunk): boolean
}

/**
 * The same reader, for a single response. A second beginning with the same id is ignored (qT15), and so is all that comes after the
 * end (qT16). A second beginning with another id, or without one, throws a {@link RestartedError} (qT14).
 */
export function singleResponse<Chunk>({ begins, isLast }: Bounds<Chunk>, read: ReadChunk<Chunk>): ReadChunk<Chunk> {
  let begun: ReturnType<typeof begins>
  let ended = false
  return (chunk, to) => {
    if (ended) return
    const beginning = begins(chunk)
    if (beginning && begun) {
      if (!beginning.id || beginning.id !== begun.id) throw new RestartedError()
      return
    }
    begun ??= beginning
    read(chunk, to)
    ended = isLast(chunk)
  }
}
