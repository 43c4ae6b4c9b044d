/** Makes the responses of the handlers, which no cache may keep. */

const HEADERS = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }

export function jsonResponse(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: HEADERS })
}

export function noContent(): Response {
  return new Response(null, { status: 204, headers: HEADERS })
}
