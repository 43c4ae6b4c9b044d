/** Where a request goes, and what its body is. */

/** The parts of the path that follow the base; undefined if the path is not below it. A slash at the end of either does not count. */
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

/** Only a page that this server allows can send a body of this type: a form of another site cannot. */
export function isJson({ headers }: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '')
}
