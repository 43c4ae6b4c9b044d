/** The base URL of a real endpoint, in the form that both vendors' clients accept. */

/** The clients add the version themselves: it may be present or not. */
export function withoutVersion(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1$/, '')
}
