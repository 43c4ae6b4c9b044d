/** A proxy that leads new connections to another server, as a failover does. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface SwitchingProxy {
  /** The URL of the first server, through the proxy. */
  readonly url: string
  /** Leads new connections to the server of this URL. Open connections stay where they are. */
  switchTo(url: string): void
  close(): Promise<void>
}

export async function switchingProxy(url: string): Promise<SwitchingProxy> {
  const sockets = new Set<Socket>()
  let target = new URL(url)
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const end = (): void => {
      for (const socket of [client, upstream]) {
        socket.destroy()
        sockets.delete(socket)
      }
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const own = typeof address === 'object' && address ? String(address.port) : ''

  return {
    url: Object.assign(new URL(url), { port: own }).href,
    switchTo(next) {
      target = new URL(next)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
