/** The way of an answer: from a request through an official client to events and a message. */

import type { AssistantMessage, Flow, ModelEvent, ModelRequest, ReadChunk } from '@meanwhile/core'
import { assemble } from '@meanwhile/core'
import { type Asked, clientChunks, type RequestOptions } from './client-chunks.ts'
import { explain, readSafely } from './explain.ts'
import { IDLE_TIMEOUT } from './idle-limit.ts'

export interface AnswerOptions<Chunk> {
  readonly open: (options: RequestOptions) => Asked<Chunk>
  readonly read: ReadChunk<Chunk>
  /** Whether the chunk shows only that the connection is still there. */
  readonly isSilent: (chunk: Chunk) => boolean
  /** Whether the protocol ends with this chunk. */
  readonly isLast?: (chunk: Chunk) => boolean
  readonly idleTimeout: number | undefined
}

/** Asks when the first event is; whatever goes wrong on the way is a `ModelError`, with what had come. */
export function answer<Chunk extends object>(
  request: ModelRequest,
  { open, read, isSilent, isLast, idleTimeout = IDLE_TIMEOUT }: AnswerOptions<Chunk>,
): Flow<ModelEvent, AssistantMessage> {
  const chunks = clientChunks(request, open, idleTimeout)
  const readAll = readSafely<Iterable<Chunk>>((brought, to) => {
    for (const chunk of brought) {
      if (!isSilent(chunk)) chunks.said()
      read(chunk, to)
      // What the same read brought after it may not even be an event.
      if (isLast?.(chunk)) return chunks.over()
    }
  })
  return assemble(request, chunks, readAll, explain)
}
