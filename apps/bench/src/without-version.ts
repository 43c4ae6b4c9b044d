/** The base URL of a real endpoint, as both vendors' clients take it. */

/** The clients add the version themselves: it may be given, or not. */
export function withoutVersion(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1$/, '')
}
