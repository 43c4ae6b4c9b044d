/** Receives telemetry over OTLP, as a collector does: for tests of export, flush and shutdown, in this process or another. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { WaitTimeoutError } from './errors.ts'
import { type ReceivedSpan, spansOf, type TraceRequest } from './otlp-spans.ts'

export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`; an exporter's own `url` option wants `/v1/traces` behind it. */
  readonly url: string
  /** All spans that came, in the order in which they did. */
  readonly spans: readonly ReceivedSpan[]
  /** Resolves with the spans once they satisfy the predicate; rejects with a {@link WaitTimeoutError}. Default: 5,000 ms. */
  waitFor(
    predicate: (spans: readonly ReceivedSpan[]) => boolean,
    options?: { readonly timeout?: number },
  ): Promise<readonly ReceivedSpan[]>
  close(): Promise<void>
}

/**
 * Listens on 127.0.0.1, at a free port. Takes `POST /v1/traces` as JSON (the exporters `…-otlp-http`); metrics are taken and
 * dropped. Anything but JSON gets a status 415 that says so.
 */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const watchers = new Set<() => void>()
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => reply(response, 400, { message: String(error) }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    waitFor,
    close,
    [Symbol.asyncDispose]: close,
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request)
    const path = request.url ?? ''
    if (path !== '/v1/traces' && path !== '/v1/metrics')
      return reply(response, 404, { message: `${path} is not served` })
    const type = request.headers['content-type'] ?? 'nothing'
    if (!type.startsWith('application/json')) {
      return reply(response, 415, { message: `only application/json is taken (protocol http/json), not ${type}` })
    }
    if (path === '/v1/traces') spans.push(...spansOf(JSON.parse(body.toString('utf8')) as TraceRequest))
    reply(response, 200, {})
    for (const look of watchers) look()
  }

  function waitFor(
    predicate: (spans: readonly ReceivedSpan[]) => boolean,
    { timeout = 5_000 }: { readonly timeout?: number } = {},
  ): Promise<readonly ReceivedSpan[]> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        watchers.delete(look)
        reject(new WaitTimeoutError('the spans', timeout, spans.map((span) => span.name).join(', ') || 'none'))
      }, timeout)
      watchers.add(look)
      look()

      function look(): void {
        try {
          if (!predicate(spans)) return
          resolve(spans)
        } catch (error) {
          reject(error)
        }
        clearTimeout(timer)
        watchers.delete(look)
      }
    })
  }

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
}
