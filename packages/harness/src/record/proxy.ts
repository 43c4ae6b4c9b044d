/** A plain HTTP server that passes every request to a `fetch`. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '@meanwhile/core'
import { type Loopback, listenHere } from '../loopback.ts'
import { bodyOfRequest } from '../request-body.ts'

/** Listens on 127.0.0.1 at a free port. If a response breaks off, it also breaks off for the client. */
export async function serveProxy(fetch: typeof globalThis.fetch): Promise<Loopback> {
  const server = createServer({ noDelay: true }, (request, response) => {
    pass(request, response).catch((error: unknown) => fail(response, error))
  })
  const here = await listenHere(server)
  return here

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController()
    response.once('close', () => left.abort())
    const { method = 'GET' } = request
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    )
    const body = await bodyOfRequest(request)
    const answer = await fetch(here.url + request.url, {
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
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const message = `the upstream did not respond: ${messageOf(error)}`
  response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
}
