/** Streams a response of an official client as model events and a message. */

import { assemble, type ReadChunk } from '@meanwhile/assemble'
import type { AssistantMessage, Flow, ModelEvent, ModelRequest } from '@meanwhile/core'
import { type Asked, clientChunks, type RequestOptions } from './client-chunks.ts'
import { explain, readSafely } from './explain.ts'
import { IDLE_TIMEOUT } from './idle-limit.ts'
import { refuseMissingCalls } from './missing-calls.ts'

export interface AnswerOptions<Chunk> {
  readonly open: (options: RequestOptions) => Asked<Chunk>
  readonly read: ReadChunk<Chunk>
  /** Whether the chunk only shows that the connection is still open. */
  readonly isSilent: (chunk: Chunk) => boolean
  /** Whether the protocol ends with this chunk. */
  readonly isLast?: (chunk: Chunk) => boolean
  readonly idleTimeout: number | undefined
}

/** Sends the request when the first event is read. Every failure is a `ModelError` with the partial message. */
export function answer<Chunk extends object>(
  request: ModelRequest,
  { open, read, isSilent, isLast, idleTimeout = IDLE_TIMEOUT }: AnswerOptions<Chunk>,
): Flow<ModelEvent, AssistantMessage> {
  const chunks = clientChunks(request, open, idleTimeout)
  const readChunk = refuseMissingCalls(read)
  const readAll = readSafely<Iterable<Chunk>>((brought, to) => {
    for (const chunk of brought) {
      if (!isSilent(chunk)) chunks.said()
      readChunk(chunk, to)
      // Anything after it in the same read may be something else than an event.
      if (isLast?.(chunk)) return chunks.over()
    }
  })
  return assemble(request, chunks, readAll, explain)
}
