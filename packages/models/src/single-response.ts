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
  /** The id of the response that this chunk is of, if it says one and does not begin it. */
  idOf?(chunk: Chunk): string | null | undefined
  /** Whether the protocol ends with this chunk. */
  isLast(chunk: Chunk): boolean
}

/**
 * The same reader, for a single response. A second beginning with the same id is ignored (qT15), and so is all that comes after the
 * end (qT16). A second beginning with another id, or without one, throws a {@link RestartedError} (qT14), and so does any other chunk
 * with another id (qT18), unless the ids differed before the response said anything: some hosts make a new id for each event (qT17).
 */
export function singleResponse<Chunk>(
  { begins, idOf, isLast }: Bounds<Chunk>,
  read: ReadChunk<Chunk>,
): ReadChunk<Chunk> {
  let begun: ReturnType<typeof begins>
  let known: string | undefined
  let hasSpoken = false
  let changes = false
  let ended = false
  return (chunk, to) => {
    if (ended) return
    const beginning = begins(chunk)
    if (beginning && begun) {
      if (!beginning.id || beginning.id !== begun.id) throw new RestartedError()
      return
    }
    const id = (beginning ? beginning.id : idOf?.(chunk)) || undefined
    if (id && known && id !== known) {
      if (hasSpoken && !changes) throw new RestartedError()
      changes = true
    }
    known ??= id
    hasSpoken ||= !id && !beginning
    begun ??= beginning
    read(chunk, to)
    ended = isLast(chunk)
  }
}
