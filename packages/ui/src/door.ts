/** Asks the server whether a request may pass. A value passes only if it clearly admits the request. */

import { AccessError, tagOf } from './access-error.ts'
import type { HandlerOptions } from './handler-options.ts'

/**
 * Asks `allow`. Returns the response that refuses the request, if there is one.
 *
 * @throws {AccessError} It returned anything else but undefined.
 */
export async function refusedBy(allow: HandlerOptions['allow'], request: Request): Promise<Response | undefined> {
  const returned: unknown = await allow?.(request)
  if (returned === undefined || isResponse(returned)) return returned
  throw new AccessError('allow', returned)
}

/** Also true for a response that another implementation of `fetch` made, because it must never be taken for a context. */
export function isResponse(value: unknown): value is Response {
  return value instanceof Response || (typeof value === 'object' && value !== null && tagOf(value) === 'Response')
}

/** Objects that are a slip, and no context: an error that was returned instead of thrown, the generator of a generator function, `new Boolean(false)`. */
const SLIPS: ReadonlySet<string> = new Set([
  'AsyncGenerator',
  'BigInt',
  'Boolean',
  'Error',
  'Generator',
  'Number',
  'String',
  'Symbol',
])

/** Whether `open` admits a request with this value. */
export function isContext(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const isList = Array.isArray(value) || ArrayBuffer.isView(value)
  return !isList && !(value instanceof Error) && !SLIPS.has(tagOf(value))
}
