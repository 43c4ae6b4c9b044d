/** The chunks of a response whose request is made when the first one is asked for. */

import type { ModelRequest } from '@meanwhile/core'
import { defined } from './defined.ts'

/** The options the official clients take beside a request's body. */
export interface RequestOptions {
  readonly signal: AbortSignal
  readonly maxRetries?: number
}

/** Makes the request when the first chunk is asked for. A reader that leaves closes the client's stream, which ends the request. */
export function chunks<Chunk>(
  { signal, clientRetries }: ModelRequest,
  open: (options: RequestOptions) => PromiseLike<AsyncIterable<Chunk>>,
): AsyncIterable<Chunk> {
  return {
    [Symbol.asyncIterator]() {
      let stream: AsyncIterator<Chunk> | undefined
      const opened = async () => {
        signal.throwIfAborted()
        const chunks = await open({ signal, ...defined({ maxRetries: clientRetries }) })
        stream = chunks[Symbol.asyncIterator]()
        return stream.next()
      }
      return {
        // No generator: it would cost every chunk a turn.
        next: () => (stream ? stream.next() : opened()),
        async return() {
          await stream?.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}
