/** One process, one port, on this machine only: takes OTLP, and serves the page. */

/// <reference lib="esnext.disposable" preserve="true" />

import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DEFAULT_PORT, PortInUseError } from './errors.ts'
import { pageFiles } from './page-files.ts'
import { answering } from './server/answering.ts'
import { api } from './server/api.ts'
import { guardOf, SECURITY_HEADERS } from './server/guard.ts'
import { ingest, isIngest } from './server/ingest.ts'
import { spansInFile } from './server/otlp-file.ts'
import { Traces } from './store/traces.ts'

/** The options of {@link startDevtools}. */
export interface DevtoolsOptions {
  /** Default 4318, the default of exporters. 0: any free port. */
  readonly port?: number
  /** Origins of pages of other servers that may send spans, such as `http://localhost:5173`. Default: none. */
  readonly allowOrigin?: readonly string[]
  /** Files with OTLP as JSON, one document or one per line, that are shown from the start. */
  readonly files?: readonly string[]
  /** The folder with the built page. Default: that of this package. */
  readonly page?: string
}

/** A running devtools server. */
export interface Devtools extends AsyncDisposable {
  /** Its address: for a browser, and for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  /** Stops it, and ends open connections. */
  close(): Promise<void>
}

/**
 * Starts the server on 127.0.0.1 and ::1. Rejects with a {@link PortInUseError} if the port is taken, with an `OtlpFileError` for a file
 * that cannot be read or is not OTLP.
 */
export async function startDevtools(options: DevtoolsOptions = {}): Promise<Devtools> {
  const { port: asked = DEFAULT_PORT, allowOrigin = [], files = [], page } = options
  const pages = await pageFiles(page)
  const traces = new Traces()
  for (const file of files) traces.add(await spansInFile(file))

  const servers: Server[] = []
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(closed))
  }
  try {
    const listener = answering(handle)
    const first = await listening(listener, '127.0.0.1', asked)
    servers.push(first)
    const { port } = first.address() as AddressInfo
    const guard = guardOf(port, allowOrigin)
    const answerApi = api(traces)
    // A browser or an exporter may take either address for localhost.
    const second = await listening(listener, '::1', port).catch(withoutIpv6)
    if (second) servers.push(second)

    async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
      if (!guard.admits(request)) return plain(response, 403, 'only pages and programs of this machine may ask')
      const url = URL.parse(request.url ?? '/', 'http://localhost')
      if (!url) return plain(response, 400, 'the path is not valid')
      const origin = guard.allowedOrigin(request)
      if (origin !== undefined) allowed(response, origin)
      if (isIngest(url.pathname)) {
        if (request.method === 'POST') return await ingest(url.pathname, request, response, traces)
        if (request.method === 'OPTIONS' && origin !== undefined) return void response.writeHead(204).end()
      }
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return plain(response, 405, 'only GET is possible here')
      if (answerApi(url, request, response)) return
      const file = pages.get(url.pathname) ?? (isPage(url.pathname) ? pages.get('/index.html') : undefined)
      if (!file) return plain(response, 404, 'nothing is here')
      response.writeHead(200, { 'content-type': file.type, 'cache-control': 'no-cache' })
      response.end(file.bytes)
    }

    return { url: `http://localhost:${port}`, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The state of the page is in its address. */
const isPage = (path: string): boolean => path === '/' || /^\/run\/[0-9a-f]{32}-[0-9a-f]{16}$/.test(path)

function allowed(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-headers', 'content-type, content-encoding')
  response.setHeader('access-control-allow-methods', 'POST')
  response.setHeader('cross-origin-resource-policy', 'cross-origin')
  response.setHeader('vary', 'origin')
}

function plain(response: ServerResponse, status: number, text: string): void {
  // An exporter that is refused may still be sending.
  response.req.resume()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
  response.end(`${text}\n`)
}

const IDLE_MS = 5 * 60_000

function listening(handler: RequestListener, host: string, port: number): Promise<Server> {
  // A program whose connection is open is running: it is not closed soon.
  const server = createServer({ keepAliveTimeout: IDLE_MS }, handler)
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortInUseError(port, { cause: error }) : error)
    })
    server.listen({ host, port }, () => resolve(server))
  })
}

function withoutIpv6(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT' || error.code === 'EINVAL') return undefined
  throw error
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
