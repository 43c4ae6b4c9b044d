/** A version of the AI SDK that reads our streams with its own reader, and checks them with its own schema. */

import type { UIMessage, UIMessageChunk } from 'ai'
import * as ai from 'ai'

export interface Peer {
  readonly version: 6 | 7
  /** The message that the version's own reader makes of these chunks; its own schema must accept each chunk. */
  read(chunks: readonly UIMessageChunk[], message?: UIMessage): Promise<UIMessage | undefined>
}

/** What a version exports for it. */
interface Library<Chunk, Message> {
  uiMessageChunkSchema(): { validate?(chunk: unknown): PromiseLike<Validated> | Validated }
  readUIMessageStream(options: {
    stream: ReadableStream<Chunk>
    message?: Message
    onError: (error: unknown) => void
  }): AsyncIterable<object>
}

interface Validated {
  readonly success: boolean
}

export function peerOf<Chunk, Message extends object>(
  version: Peer['version'],
  { uiMessageChunkSchema, readUIMessageStream }: Library<Chunk, Message>,
): Peer {
  return {
    version,
    async read(chunks, message) {
      for (const chunk of chunks) {
        const validated = await uiMessageChunkSchema().validate?.(chunk)
        if (!validated?.success) throw new Error(`version ${version} refuses ${JSON.stringify(chunk)}`)
      }
      const errors: string[] = []
      const onError = (error: unknown) => void errors.push(error instanceof Error ? error.message : String(error))
      const begun = message && { message: copy<Message>(message) }
      const last = await lastOf(readUIMessageStream({ stream: streamOf(chunks), onError, ...begun }))
      // The reader has reported the errors of the stream, and no others.
      const told = chunks.flatMap((chunk) => (chunk.type === 'error' ? [chunk.errorText] : []))
      if (errors.join() !== told.join()) throw new Error(`version ${version} could not read it: ${errors.join()}`)
      return last && copy(last)
    },
  }
}

/** The current version. */
export const seven: Peer = peerOf(7, ai)

/** A copy, as it comes from the wire. */
function copy<Value>(value: object): Value {
  return JSON.parse(JSON.stringify(value))
}

function streamOf<Chunk>(chunks: readonly UIMessageChunk[]): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(copy<Chunk>(chunk))
      controller.close()
    },
  })
}

async function lastOf<Value>(values: AsyncIterable<Value>): Promise<Value | undefined> {
  let last: Value | undefined
  for await (const value of values) last = value
  return last
}
