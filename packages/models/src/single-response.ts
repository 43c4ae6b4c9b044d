/** Reads exactly one response from a stream, and detects a second one. */

import type { ReadChunk } from '@meanwhile/assemble'

/** A second response began in the stream of the first: a gateway has repeated its request. */
export class RestartedError extends Error {
  override readonly name = 'RestartedError'

  constructor() {
    super('a second response began in the stream of the first')
  }
}

export interface Bounds<Chunk> {
  /** The response that begins with this chunk, if one does. */
  begins(chunk: Chunk): { readonly id?: string | null | undefined } | undefined
  /** The id of the response that this chunk belongs to, if it contains one and does not begin the response. */
  idOf?(chunk: Chunk): string | null | undefined
  /** Whether the protocol ends with this chunk. */
  isLast(chunk: Chunk): boolean
}

/**
 * Returns the same reader, for a single response. It ignores a second beginning with the same id (qT15), and everything
 * after the end (qT16). It throws {@link RestartedError} for a second beginning with another id or without one (qT14),
 * and for any other chunk with another id (qT18). If the ids already differed before the response had content, they do
 * not count: some hosts make a new id for each event (qT17).
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
