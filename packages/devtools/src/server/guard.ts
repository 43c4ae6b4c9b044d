/** Refuses requests that other sites make a browser send. Only pages of this server, and programs on this machine, may ask. */

import type { IncomingMessage } from 'node:http'
import { isIngest } from './ingest.ts'

export interface Guard {
  /** Whether a request may be answered. */
  admits(request: IncomingMessage): boolean
  /** The origin of a page of another server that may send spans, if the request comes from one. */
  allowedOrigin(request: IncomingMessage): string | undefined
}

/** `origins`: the pages of other servers that may send spans, such as `http://localhost:5173`. */
export function guardOf(port: number, origins: readonly string[]): Guard {
  // Browsers leave out the port of http.
  const ports = port === 80 ? ['', ':80'] : [`:${port}`]
  const hosts = new Set(['localhost', '127.0.0.1', '[::1]'].flatMap((host) => ports.map((at) => host + at)))
  const own = new Set([...hosts].map((host) => `http://${host}`))
  const allowed = new Set(origins)

  function allowedOrigin({ headers: { origin }, url = '' }: IncomingMessage): string | undefined {
    return origin !== undefined && allowed.has(origin) && isIngest(url) ? origin : undefined
  }

  return {
    allowedOrigin,
    admits(request) {
      const { host = '', origin, 'sec-fetch-site': site } = request.headers
      if (!hosts.has(host.toLowerCase())) return false
      if (allowedOrigin(request) !== undefined) return true
      // A page of another origin may navigate here, but not on behalf of another site.
      return (origin === undefined || own.has(origin)) && site !== 'cross-site'
    },
  }
}

/** On every answer. The page has no inline script and no inline style. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}
