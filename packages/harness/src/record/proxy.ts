/** A plain HTTP server that hands every request to a `fetch`. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '@meanwhile/core'

export interface LoopbackProxy {
  readonly url: string
  /** Closes the server and every connection. */
  close(): Promise<void>
}

/** Listens on 127.0.0.1, at a free port. A response that breaks breaks for the client too. */
export async function serveProxy(fetch: typeof globalThis.fetch): Promise<LoopbackProxy> {
  const server = createServer({ noDelay: true }, (request, response) => {
    pass(request, response).catch((error: unknown) => fail(response, error))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close }

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController()
    response.once('close', () => left.abort())
    const { method = 'GET' } = request
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    )
    const body = await read(request)
    const answer = await fetch(url + request.url, {
      method,
      headers,
      signal: left.signal,
      ...(body.length > 0 && { body }),
    })
    response.writeHead(answer.status, [...answer.headers].flat())
    response.flushHeaders()
    if (answer.body) await pipeline(Readable.fromWeb(answer.body), response)
    else response.end()
  }

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const message = `the upstream did not answer: ${messageOf(error)}`
  response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
