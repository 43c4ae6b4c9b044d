/** What a server of ours is sent, in memory, and no more than fits. */

import type { IncomingMessage } from 'node:http'
import { HarnessError } from './errors.ts'

/** A body has more bytes than a server of ours takes. */
export class BodyTooLargeError extends HarnessError {
  override readonly name = 'BodyTooLargeError'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`a body has more than ${maxBytes} bytes, and no more are taken`)
    this.maxBytes = maxBytes
  }
}

const MOST_BYTES = 64 * 1024 * 1024

/** The body of a request. Rejects with a {@link BodyTooLargeError} at the end of one that is too large; the request can still be answered. */
export async function bodyOfRequest(request: IncomingMessage, maxBytes: number = MOST_BYTES): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    // What is too much is read all the same: a client that still sends hears no answer.
    if (size <= maxBytes) chunks.push(chunk)
    else chunks.length = 0
  }
  if (size > maxBytes) throw new BodyTooLargeError(maxBytes)
  return Buffer.concat(chunks, size)
}
