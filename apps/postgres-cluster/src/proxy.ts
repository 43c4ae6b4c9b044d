/** A proxy in front of a PostgreSQL server, for other proxies to build on. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A connection of a client, and its connection to the server. */
export interface Connection {
  readonly client: Socket
  readonly upstream: Socket
  /** Cuts both. */
  end(): void
}

export interface ServerProxy {
  /** The URL of the server, through the proxy. */
  readonly url: string
  close(): Promise<void>
}

/** `target` returns the URL to which a new connection leads. `onConnection` passes on what client and server send. */
export async function startProxy(
  url: string,
  target: () => string,
  onConnection: (connection: Connection) => void,
): Promise<ServerProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const { hostname, port } = new URL(target())
    const upstream = connect(Number(port), hostname)
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
    onConnection({ client, upstream, end })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const own = typeof address === 'object' && address ? String(address.port) : ''
  return {
    url: Object.assign(new URL(url), { port: own }).href,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
