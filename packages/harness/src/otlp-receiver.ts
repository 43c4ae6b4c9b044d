/**
 * A local OTLP receiver that works like a collector, for tests of export, flush and shutdown, in this process or
 * another.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { checkOptions, messageOf } from '@meanwhile/core'
import { WaitTimeoutError } from './errors.ts'
import { listenHere } from './loopback.ts'
import { acceptance, decodePoints, decodeSpans, type OtlpFormat, otlpFormat, refusal } from './otlp-format.ts'
import type { ReceivedPoint } from './otlp-points.ts'
import type { ReceivedSpan } from './otlp-spans.ts'
import { BodyTooLargeError, bodyOfRequest } from './request-body.ts'

/** How the receiver fails: with a status, and optionally seconds to wait, or without any response. */
export type OtlpFault = 'hang' | { readonly status: number; readonly retryAfter?: number }

/** The options of `otlpReceiver`. */
export interface OtlpReceiverOptions {
  /** One fault for every request, or a list with one for each of the first requests. Default: none. */
  readonly fault?: OtlpFault | readonly OtlpFault[]
  /**
   * The maximum number of bytes kept, for all decompressed bodies together. Requests beyond it get a status 413.
   * Default 268,435,456.
   */
  readonly maxBytes?: number
}

/** Everything received, in order. */
export interface Received {
  /** All spans. */
  readonly spans: readonly ReceivedSpan[]
  /** All points of metrics. */
  readonly points: readonly ReceivedPoint[]
  /**
   * The requests, unchanged, including those that were not accepted; the body of a request that was too large is not
   * kept.
   */
  readonly requests: readonly OtlpRequest[]
}

/** A request to the receiver. */
export interface OtlpRequest {
  /** For example `/v1/traces`. */
  readonly path: string
  /** Decompressed: the text of a JSON body, a protobuf body as base64. */
  readonly body: string
  /** The status of the response; absent if there was none. */
  readonly status?: number
}

export interface OtlpReceiver extends Received, AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. For an exporter's own `url` option, append `/v1/traces` or `/v1/metrics`. */
  readonly url: string
  /**
   * Resolves with everything received once the predicate returns `true`. Rejects with a {@link WaitTimeoutError} that
   * lists what was received, with the error of the predicate, or with the signal's reason. `timeout` in milliseconds,
   * default 5,000.
   */
  waitFor(
    predicate: (received: Received) => boolean,
    options?: { readonly timeout?: number; readonly signal?: AbortSignal },
  ): Promise<Received>
  /** Closes the receiver, and ends requests that hang. */
  close(): Promise<void>
}

/**
 * Listens on 127.0.0.1 at a free port. Accepts `POST /v1/traces` and `/v1/metrics` as JSON and as protobuf (the
 * exporters `…-otlp-http` and `…-otlp-proto`, or the SDK with `OTEL_EXPORTER_OTLP_PROTOCOL=http/json` or
 * `http/protobuf`), and responds in the format of the request. Other formats get a status 415 with the reason.
 */
export async function otlpReceiver(options: OtlpReceiverOptions = {}): Promise<OtlpReceiver> {
  checkOptions('otlpReceiver', options, { fault: '', maxBytes: '' })
  const { fault = [], maxBytes = MOST_BYTES } = options
  const received = { spans: [] as ReceivedSpan[], points: [] as ReceivedPoint[], requests: [] as OtlpRequest[] }
  const watchers = new Set<() => void>()
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      reply(response, error instanceof BodyTooLargeError ? 413 : 400, { message: messageOf(error) })
    })
  })
  let left = maxBytes
  const { url, close } = await listenHere(server)
  return {
    url,
    ...received,
    waitFor,
    close,
    [Symbol.asyncDispose]: close,
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const bytes = await unpacked(request, left)
    left -= bytes.length
    const type = request.headers['content-type']
    const format = otlpFormat(type)
    const answer = faultOf(received.requests.length) ?? refusalOf(path, type) ?? answerTo(path, bytes, format)
    const { status } = answer
    const body = bytes.toString(format === 'application/x-protobuf' ? 'base64' : 'utf8')
    received.requests.push({ path, body, ...(status !== undefined && { status }) })
    if (status !== undefined) reply(response, status, answer, format)
    for (const look of watchers) look()
  }

  function answerTo(path: string, body: Uint8Array, format: OtlpFormat = 'application/json'): Answer {
    try {
      if (path === '/v1/metrics') {
        received.points.push(...decodePoints(body, format))
        return { status: 200 }
      }
      const { spans, rejected } = decodeSpans(body, format)
      received.spans.push(...spans)
      return { status: 200, ...(rejected > 0 && { rejected }) }
    } catch (error) {
      return { status: 400, message: `the body is not OTLP: ${messageOf(error)}` }
    }
  }

  function faultOf(index: number): Answer | undefined {
    const found = isList(fault) ? fault[index] : fault
    return found === 'hang' ? {} : found && { message: 'the receiver is configured to refuse this request', ...found }
  }

  function waitFor(
    predicate: (received: Received) => boolean,
    { timeout = 5_000, signal }: { readonly timeout?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Received> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        leave()
        reject(new WaitTimeoutError('the telemetry', timeout, inWords(received)))
      }, timeout)
      watchers.add(look)
      signal?.addEventListener('abort', stop)
      if (signal?.aborted) stop()
      else look()

      function look(): void {
        try {
          if (!predicate(received)) return
          resolve(received)
        } catch (error) {
          reject(error)
        }
        leave()
      }

      function stop(): void {
        leave()
        reject(signal?.reason)
      }

      function leave(): void {
        clearTimeout(timer)
        watchers.delete(look)
        signal?.removeEventListener('abort', stop)
      }
    })
  }
}

const MOST_BYTES = 256 * 1024 * 1024

/** The response to a request. Without a status the request hangs. */
interface Answer {
  readonly status?: number
  readonly message?: string
  readonly retryAfter?: number
  /** How many of its spans have ids that are not valid. */
  readonly rejected?: number
}

function refusalOf(path: string, type = 'nothing'): Answer | undefined {
  if (path !== '/v1/traces' && path !== '/v1/metrics') return { status: 404, message: `${path} is not served` }
  if (otlpFormat(type)) return undefined
  return { status: 415, message: `only application/x-protobuf and application/json are accepted, not ${type}` }
}

function isList(fault: OtlpFault | readonly OtlpFault[]): fault is readonly OtlpFault[] {
  return Array.isArray(fault)
}

function inWords({ spans, points, requests }: Received): string {
  const refused = requests.filter(({ status }) => status !== 200).map(({ status }) => status ?? 'no answer')
  const parts = [
    list('span', spans),
    list('point', points),
    refused.length > 0 ? `refused requests: ${refused.join(', ')}` : '',
  ]
  return parts.filter((part) => part !== '').join('; ') || 'nothing'
}

const MOST_NAMES = 50

function list(what: string, named: readonly { readonly name: string }[]): string {
  if (named.length === 0) return ''
  const names = named.slice(0, MOST_NAMES).map(({ name }) => name)
  if (named.length > names.length) names.push('…')
  return `${named.length} ${what}${named.length > 1 ? 's' : ''} (${names.join(', ')})`
}

function reply(
  response: ServerResponse,
  status: number,
  { message, retryAfter, rejected }: Answer,
  format: OtlpFormat = 'application/json',
): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
  response.writeHead(status, { 'content-type': format })
  response.end(message === undefined ? acceptance(format, rejected, INVALID_IDS) : refusal(format, message))
}

const INVALID_IDS = 'the id of a span or of its trace is not valid'

async function unpacked(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = await bodyOfRequest(request, maxBytes)
  if (request.headers['content-encoding'] !== 'gzip') return body
  try {
    return gunzipSync(body, { maxOutputLength: Math.max(1, maxBytes) })
  } catch (error) {
    if (error instanceof RangeError) throw new BodyTooLargeError(maxBytes)
    throw error
  }
}
