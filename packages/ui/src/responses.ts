/** Makes the responses of the handlers, which no cache may keep. */

import type { Refusal } from './refusals.ts'

const HEADERS = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }

export function jsonResponse(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: HEADERS })
}

/** The body is a sentence for people, because clients show it as it is. `name`: the name of the error, for programs. */
export function refusalResponse(name: string, { status, message, retryAfter }: Refusal): Response {
  const headers = {
    ...HEADERS,
    'content-type': 'text/plain; charset=utf-8',
    'x-error': name,
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  }
  return new Response(message, { status, headers })
}

export function noContent(): Response {
  return new Response(null, { status: 204, headers: HEADERS })
}
