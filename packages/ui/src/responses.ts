/** Makes the responses of the handlers, which no cache may keep. */

import type { Refusal } from './refusals.ts'

const HEADERS = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }

export function jsonResponse(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: HEADERS })
}

/** Returns the response to a request that is refused. */
export function refusedWith(body: unknown, { status, retryAfter }: Refusal): Response {
  const later = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return Response.json(body, { status, headers: { ...HEADERS, ...later } })
}

export function noContent(): Response {
  return new Response(null, { status: 204, headers: HEADERS })
}
