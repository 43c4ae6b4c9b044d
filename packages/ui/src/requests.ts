/** Reads the path, the content type and the sender of a request. */

/** The parts of the path after the base; undefined if the path is not below it. A slash at the end of either is ignored. */
export function pathBelow(base: string, { url }: Request): readonly string[] | undefined {
  const root = base.replace(/\/$/, '')
  const path = new URL(url).pathname.replace(/\/$/, '')
  if (path === root) return []
  if (!path.startsWith(`${root}/`)) return undefined
  try {
    return path
      .slice(root.length + 1)
      .split('/')
      .map(decodeURIComponent)
  } catch {
    return undefined
  }
}

/** Whether the content type is JSON. Only a page that this server allows can send such a body: a form of another site cannot. */
export function isJson({ headers }: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '')
}

/**
 * Whether a page of another site may have sent the request without the consent of this server: it is a form or a plain `fetch`. Browsers name the site
 * in `sec-fetch-site`, older ones only the origin. A JSON body needs the server's consent (CORS).
 */
export function mayBeForged(request: Request): boolean {
  if (isJson(request)) return false
  const { headers, url } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'cross-site'
  const origin = headers.get('origin')
  return origin !== null && hostOf(origin) !== (headers.get('host') ?? hostOf(url))
}

export const CROSS_SITE = 'A request from another site needs a JSON body.'

/** The host with its port; undefined for the origin `null` of a page without one. */
function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined
}
