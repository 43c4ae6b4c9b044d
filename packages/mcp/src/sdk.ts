/** The official client. It is imported with the first connection, because that takes some hundred milliseconds. */

export type Sdk = typeof import('@modelcontextprotocol/client')

export function loadSdk(): Promise<Sdk> {
  return import('@modelcontextprotocol/client')
}
