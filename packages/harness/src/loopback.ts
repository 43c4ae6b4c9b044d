/** Starts and stops HTTP servers on the loopback interface. */

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Loopback {
  /** Without a trailing slash. */
  readonly url: string
  /** Closes the server and every connection. A second call waits for the same. */
  close(): Promise<void>
}

/** Listens on 127.0.0.1 at a free port. */
export async function listenHere(server: Server): Promise<Loopback> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}
