/** Reads the body of a request into memory, up to a limit. */

import type { IncomingMessage } from 'node:http'
import { HarnessError } from './errors.ts'

/** A body has more bytes than the server accepts. */
export class BodyTooLargeError extends HarnessError {
  static override readonly brand: string = 'BodyTooLargeError'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`the body has more than ${maxBytes} bytes, which is the limit`)
    this.maxBytes = maxBytes
  }
}

const MOST_BYTES = 64 * 1024 * 1024

/**
 * Reads the body of a request. Rejects with a {@link BodyTooLargeError} at the end of one that is too large; the
 * request can still be answered.
 */
export async function bodyOfRequest(request: IncomingMessage, maxBytes: number = MOST_BYTES): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    // An oversized body is still read, because a client that is sending does not read a response.
    if (size <= maxBytes) chunks.push(chunk)
    else chunks.length = 0
  }
  if (size > maxBytes) throw new BodyTooLargeError(maxBytes)
  return Buffer.concat(chunks, size)
}
