/** The checks of servers that listen on this machine only: pages of other sites, open in a browser on this machine, could send requests to them. */

import type { IncomingMessage } from 'node:http'

/** The same server, for requests that name this machine. Others are refused with 403. */
export function onThisMachine<Rest extends unknown[]>(
  fetch: (request: Request, ...rest: Rest) => Response | Promise<Response>,
): typeof fetch {
  return (request, ...rest) =>
    isForThisMachine(request.headers.get('host')) ? fetch(request, ...rest) : new Response(null, { status: 403 })
}

/** The status that refuses the request; undefined if it may pass. A page of another site can post a form or a text, but no JSON. */
export function refusalOf({ method, headers }: IncomingMessage): 403 | 415 | undefined {
  if (!isForThisMachine(headers.host)) return 403
  const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
  return method === 'POST' && !isJson ? 415 : undefined
}

/** Whether the request names this machine. A site could let its own name lead here (DNS rebinding): then the header `Host` has that name. */
function isForThisMachine(host: string | null | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host ?? '')
}
