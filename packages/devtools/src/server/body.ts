/** Reads the body of a request into memory, decompressed, up to a limit. */

import type { IncomingMessage } from 'node:http'
import { pipeline, Writable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** A body that is refused, with the status that says why. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

export const MOST_BYTES: number = 64 * 1024 * 1024

/** Rejects with a {@link BodyError}: 413 beyond the limit, on the wire or decompressed, 415 for another encoding, 400 for a broken body. */
export async function bodyOf(request: IncomingMessage, most: number = MOST_BYTES): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new BodyError(415, `content-encoding ${encoding.slice(0, 40)} is neither identity nor gzip`)
  }
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most)
  const chunks: Buffer[] = []
  let size = 0
  // It is counted while it grows: a small body may decompress to a very large one.
  const counter = new Writable({
    write(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > most) return done(tooLarge(most))
      chunks.push(chunk)
      done()
    },
  })
  let wire = 0
  request.on('data', (chunk: Buffer) => {
    wire += chunk.length
    if (wire > most) counter.destroy(tooLarge(most))
  })
  return await new Promise((resolve, reject) => {
    const end = (error?: Error | null) => {
      if (!error) return resolve(Buffer.concat(chunks, size))
      reject(
        error instanceof BodyError ? error : new BodyError(400, 'the body cannot be decompressed', { cause: error }),
      )
    }
    request.once('error', (error) => counter.destroy(error))
    // The request itself is not part of the pipeline, which would close it before it is answered.
    if (encoding === 'gzip') pipeline(request.pipe(createGunzip()), counter, end)
    else request.pipe(counter.once('finish', () => end()).once('error', end))
  })
}

const tooLarge = (most: number): BodyError => new BodyError(413, `the body has more than ${most} bytes`)
