/** Asks the server whether a request may pass. A value passes only if it clearly admits the request. */

import { AccessError, tagOf } from './access-error.ts'
import type { HandlerOptions } from './handler-options.ts'

/** What the run of an admitted request gets. */
export interface Admitted<Context = unknown> {
  readonly context?: Context
}

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

/**
 * Asks `open`. Returns the context of the run, or the response that refuses the request.
 *
 * @throws {AccessError} It returned neither an object nor undefined.
 */
export async function admittedBy<Context>(
  open: HandlerOptions<Context>['open'],
  request: Request,
  thread: string,
): Promise<Admitted<Context> | Response> {
  const returned = await open(request, thread)
  if (isResponse(returned)) return returned
  if (returned === undefined) return {}
  if (isContext(returned)) return { context: returned }
  throw new AccessError('open', returned)
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

function isContext(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const isList = Array.isArray(value) || ArrayBuffer.isView(value)
  return !isList && !(value instanceof Error) && !SLIPS.has(tagOf(value))
}
