/** The port of the chat, so that its page finds the server again after a restart. */

import { once } from 'node:events'
import { createServer } from 'node:net'

export const DEFAULT_PORT = 8_787

/** Returns the first port from this one on that no other program uses. */
export async function freePort(from: number): Promise<number> {
  for (let port = from; port < from + 100; port++) if (await isFree(port)) return port
  throw new Error(`the ports from ${from} to ${from + 99} are taken: name one with --port`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    await once(server.close(), 'close')
    return true
  } catch (error) {
    if (Object(error).code === 'EADDRINUSE') return false
    throw error
  }
}
