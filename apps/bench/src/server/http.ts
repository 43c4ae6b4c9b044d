/** Serves a function from requests to responses on `node:http`. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'

export type Handle = (request: Request) => Promise<Response>

/** Listens on a free port of 127.0.0.1, and returns it. */
export async function served(handle: Handle): Promise<number> {
  const server = createServer((message, response) => void answered(handle, message, response))
  // A page may send on its connection again at any time: it must not be closed just then.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function answered(handle: Handle, message: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { method = 'GET', url = '/' } = message
    const content = method === 'GET' ? {} : { body: message, duplex: 'half' as const }
    const headers = { 'content-type': message.headers['content-type'] ?? '' }
    const init = { method, headers, ...content } as RequestInit
    const { status, headers: answer, body } = await handle(new Request(new URL(url, 'http://localhost'), init))
    response.writeHead(status, [...answer].flat())
    await pipeline(body ?? [], response)
  } catch (error) {
    if (!response.headersSent) response.writeHead(500)
    response.end()
    console.error(error)
  }
}
