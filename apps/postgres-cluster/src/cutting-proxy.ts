/** A proxy in front of a PostgreSQL server that cuts a connection at a chosen statement. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  /** The URL of the server, through the proxy. */
  readonly url: string
  /**
   * Cuts the connection of the next statement with this text: `before` the server reads it, or `after` it ran, so that its client gets no
   * response. Resolves when the connection was cut; `meanwhile` is awaited before.
   */
  cut(when: Cut['when'], statement: string, meanwhile?: Cut['meanwhile']): Promise<void>
  close(): Promise<void>
}

interface Cut {
  readonly when: 'before' | 'after'
  readonly statement: string
  readonly meanwhile: () => Promise<void>
  readonly done: (cut: Promise<void>) => void
}

/** How a `ReadyForQuery` begins: the statement before it has run. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

export async function cuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let next: Cut | undefined

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let cutting: Cut | undefined
    const end = (): void => {
      for (const socket of [client, upstream]) {
        socket.destroy()
        sockets.delete(socket)
      }
    }
    const cut = ({ meanwhile, done }: Cut): void => done(meanwhile().finally(end))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.on('data', (chunk: Buffer) => {
      if (next && chunk.includes(next.statement)) {
        cutting = next
        next = undefined
      }
      if (cutting?.when === 'before') cut(cutting)
      else upstream.write(chunk)
    })
    upstream.on('data', (chunk: Buffer) => {
      if (!cutting) client.write(chunk)
      else if (chunk.includes(READY)) cut(cutting)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const own = typeof address === 'object' && address ? String(address.port) : ''

  return {
    url: Object.assign(new URL(url), { port: own }).href,
    cut: (when, statement, meanwhile = async () => {}) =>
      new Promise((done) => {
        next = { when, statement, meanwhile, done }
      }),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
