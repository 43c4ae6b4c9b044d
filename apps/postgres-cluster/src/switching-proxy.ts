/** A proxy that leads new connections to another server, as a failover does. */

import { type ServerProxy, startProxy } from './proxy.ts'

export interface SwitchingProxy extends ServerProxy {
  /** Leads new connections to the server of this URL. Open connections stay where they are. */
  switchTo(url: string): void
}

export async function switchingProxy(url: string): Promise<SwitchingProxy> {
  let target = url
  const proxy = await startProxy(
    url,
    () => target,
    ({ client, upstream }) => client.pipe(upstream).pipe(client),
  )
  return {
    ...proxy,
    switchTo(next) {
      target = next
    },
  }
}
