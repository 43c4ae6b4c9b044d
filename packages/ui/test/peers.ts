/** The two major versions of the AI SDK: each reads a stream with its own parts. */

import type { UIMessage, UIMessageChunk } from 'ai'
import * as ai7 from 'ai'
import * as ai6 from 'ai6'

export interface Peer {
  readonly version: 6 | 7
  /** The message that the version's own reader makes of these chunks; its own schema must accept each chunk. */
  read(chunks: readonly UIMessageChunk[], message?: UIMessage): Promise<UIMessage | undefined>
}

export const peers: readonly Peer[] = [
  {
    version: 7,
    async read(chunks, message) {
      for (const chunk of chunks) accept(7, chunk, await ai7.uiMessageChunkSchema().validate?.(chunk))
      const { errors, onError } = collector()
      const begun = message && { message: copy<UIMessage>(message) }
      const last = await lastOf(ai7.readUIMessageStream({ stream: streamOf(chunks), onError, ...begun }))
      return checked(7, chunks, errors, last)
    },
  },
  {
    version: 6,
    async read(chunks, message) {
      for (const chunk of chunks) accept(6, chunk, await ai6.uiMessageChunkSchema().validate?.(chunk))
      const { errors, onError } = collector()
      const begun = message && { message: copy<ai6.UIMessage>(message) }
      const last = await lastOf(ai6.readUIMessageStream({ stream: streamOf(chunks), onError, ...begun }))
      return checked(6, chunks, errors, last)
    },
  },
]

function accept(version: number, chunk: UIMessageChunk, validated: { readonly success: boolean } | undefined): void {
  if (!validated?.success) throw new Error(`version ${version} refuses ${JSON.stringify(chunk)}`)
}

/** A copy, as it comes from the wire. */
function copy<Value>(value: object): Value {
  return JSON.parse(JSON.stringify(value))
}

function streamOf<Chunk>(chunks: readonly UIMessageChunk[]): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(copy(chunk))
      controller.close()
    },
  })
}

function collector() {
  const errors: string[] = []
  const onError = (error: unknown) => void errors.push(error instanceof Error ? error.message : String(error))
  return { errors, onError }
}

async function lastOf<Value>(values: AsyncIterable<Value>): Promise<Value | undefined> {
  let last: Value | undefined
  for await (const value of values) last = value
  return last
}

/** The reader has reported the errors of the stream, and no others. */
function checked(
  version: number,
  chunks: readonly UIMessageChunk[],
  errors: readonly string[],
  last: object | undefined,
): UIMessage | undefined {
  const told = chunks.flatMap((chunk) => (chunk.type === 'error' ? [chunk.errorText] : []))
  if (errors.join() !== told.join()) throw new Error(`version ${version} could not read it: ${errors.join()}`)
  return last && copy(last)
}
