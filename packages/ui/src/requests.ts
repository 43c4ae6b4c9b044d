/** Reads the path and the content type of a request. */

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
