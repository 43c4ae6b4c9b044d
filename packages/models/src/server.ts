import type { Model } from '@meanwhile/core'

/** Address and port of a client's base URL. */
export function serverOf(baseURL: string): NonNullable<Model['server']> {
  const { hostname, port, protocol } = new URL(baseURL)
  return { address: hostname, port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port) }
}
