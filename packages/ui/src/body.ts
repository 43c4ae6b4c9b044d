/** Reads the body of a request, up to a limit, and checks the values in it. */

import type { Json } from '@meanwhile/core'
import { asJson } from '@meanwhile/core/calls'

/** A value in the body is not what it must be. */
export class MalformedBodyError extends Error {
  override readonly name = 'MalformedBodyError'
  /** The member of the body, such as `messages[3].parts[0]`. */
  readonly member: string

  /** `expected`: what the member must be. */
  constructor(member: string, expected: string) {
    super(`The request is malformed: ${member} must be ${expected}.`)
    this.member = member
  }
}

/**
 * Returns a value that was parsed from JSON, if it can be stored as JSON again.
 *
 * @throws {MalformedBodyError} It is nested too deep, or has a number like `1e999`.
 */
export function storableJson(value: unknown, member: string): Json {
  try {
    return asJson(value, member)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new MalformedBodyError(member, 'JSON with finite numbers, at most 512 levels deep')
  }
}

/** The body has more bytes than the handler reads. */
export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError'
  /** The maximum number of bytes. */
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`the body has more than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}

/** @throws {BodyTooLargeError} The request declares a larger body. */
export function checkDeclaredSize({ headers }: Request, maxBytes: number): void {
  const declared = headers.get('content-length') ?? ''
  if (/^\d+$/.test(declared) && Number(declared) > maxBytes) throw new BodyTooLargeError(maxBytes)
}

/**
 * Returns the JSON value of the body; undefined if it is not JSON or could not be read.
 *
 * @throws {BodyTooLargeError} It is larger. The rest of it is not read.
 */
export async function jsonBody(request: Request, maxBytes: number): Promise<unknown> {
  try {
    return JSON.parse(new TextDecoder().decode(await bytesOf(request, maxBytes)))
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw error
    return undefined
  }
}

/** The bytes are counted, because a request may declare fewer than it sends. */
async function bytesOf({ body }: Request, maxBytes: number): Promise<Uint8Array> {
  const reader = body?.getReader()
  let bytes = new Uint8Array(0)
  let length = 0
  const refused = (error: Error): Error => {
    // Not awaited: the sender may never react.
    reader?.cancel(error).catch(() => undefined)
    return error
  }
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) return bytes.subarray(0, length)
    if (!ArrayBuffer.isView(value)) throw refused(new TypeError('the body is not a stream of bytes'))
    const chunk = new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    if (length + chunk.length > maxBytes) throw refused(new BodyTooLargeError(maxBytes))
    if (length + chunk.length > bytes.length) bytes = grown(bytes, length + chunk.length)
    bytes.set(chunk, length)
    length += chunk.length
  }
}

/** At least twice as long, so that a body of many small chunks is read in linear time. */
function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(Math.max(bytes.length * 2, length))
  longer.set(bytes)
  return longer
}
