/** A fault of the devtools ends one request, not the process. */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Answers with the status 500 if `handle` rejects, and prints one line. The line has no text of spans. */
export function answering(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): RequestListener {
  return (request, response) => {
    handle(request, response).catch((error: unknown) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost')
      console.error(`Internal error of the devtools: ${placeOf(error)}, when asked for ${request.method} ${pathname}`)
      if (response.headersSent) response.destroy()
      else response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end('an internal error\n')
    })
  }
}

/** Its name and where it was thrown. Its message may contain what a span contains. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no error was thrown'
  const { name, message, stack = '' } = error
  const place = stack.replace(message, '').split('\n')[1] ?? ''
  return `${name} ${place.trim()}`
}
