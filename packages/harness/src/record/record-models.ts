/** Records the responses of real endpoints, for tests without a network. */

/// <reference lib="esnext.disposable" preserve="true" />

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkOptions } from '@meanwhile/core'
import { clock } from '../clock.ts'
import { HarnessError } from '../errors.ts'
import { withoutSecrets } from '../journal.ts'
import type { Loopback } from '../loopback.ts'
import type { WireName } from '../wires/wire-name.ts'
import { wireAt } from '../wires/wires.ts'
import { DisprovedRuleError, disprovedBy, draftOf, type Judged } from './judged-rules.ts'
import { serveProxy } from './proxy.ts'
import { formatRecording, type RecordedEnd, type RecordedExchange } from './recording.ts'
import { type Redactor, redactor, type TimedBytes } from './secrets.ts'

/** The options of `recordModels`. */
export interface RecordModelsOptions {
  /**
   * The provider's URL, to which the paths of the requests are appended; or a `fetch` that receives the requests
   * unchanged. Default: the global fetch.
   */
  readonly upstream?: string | URL | typeof fetch
  /** The file that {@link ModelRecorder.close} writes. */
  readonly file?: string | URL
  /** Further secrets besides keys, cookies and ids of the providers: removed from URLs, headers and bodies. */
  readonly patterns?: readonly RegExp[]
  /** Headers to keep besides those that clients use; in lower case. All others are not recorded. */
  readonly headers?: readonly string[]
}

/** Records the requests to a provider and its responses. */
export interface ModelRecorder extends AsyncDisposable {
  /** For the `fetch` option of a client. */
  readonly fetch: typeof fetch
  /**
   * Starts a proxy on 127.0.0.1, for clients that accept only a base URL, and returns its URL. Requires the `upstream`
   * to be a URL.
   */
  listen(): Promise<string>
  /** The text of the file so far, without secrets. Responses that have not begun are not in it. */
  recording(): string
  /**
   * Rules for the refusals that no rule of `@meanwhile/harness/rules` foresaw, as text to complete: the words, the host
   * and the status of each. Only of hosts that are known.
   */
  drafts(): readonly string[]
  /**
   * Writes the file and closes the proxy. Then rejects with a {@link DisprovedRuleError} if a provider accepted a
   * request that breaks a rule of its host.
   */
  close(): Promise<void>
}

/**
 * Records the requests to the endpoints of all wires, whatever precedes their path, and each byte of
 * their responses with its time. Other requests are passed on unrecorded. Bodies are requested uncompressed, so that
 * their pieces are the provider's.
 *
 * Secrets exist only in memory. Few headers are kept, and keys, cookies, organisation ids and the values of secret
 * headers and parameters are removed from everything else before it is written. A secret that the *model* writes over
 * several events is not found: check a recording before you commit it.
 *
 * @example
 * await using recorder = recordModels({ file: 'test/weather.recording.json' })
 * const client = new OpenAI({ fetch: recorder.fetch })
 */
export function recordModels(options: RecordModelsOptions = {}): ModelRecorder {
  checkOptions('recordModels', options, { upstream: 'baseURL', file: '', patterns: '', headers: '' })
  const { upstream = fetch, file, patterns, headers = [] } = options
  const secrets = redactor(patterns)
  const kept = new Set([...KEPT, ...headers])
  const heard: Heard[] = []
  const send = typeof upstream === 'function' ? upstream : fetch
  const base = typeof upstream === 'function' ? undefined : new URL(upstream)
  let proxy: Promise<Loopback> | undefined
  let closed: Promise<void> | undefined

  return { fetch: record, listen, recording, drafts, close, [Symbol.asyncDispose]: close }

  async function record(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const request = new Request(input, init)
    const body = Buffer.from(await request.arrayBuffer())
    const outgoing = forwarded(request, body, base)
    const wire = wireOf(request)
    if (!wire) return send(outgoing)

    const exchange: Heard = { wire, request, sentTo: outgoing.url, body: body.toString(), arrived: clock() }
    heard.push(exchange)
    const response = await send(outgoing)
    exchange.response = { status: response.status, headers: response.headers, frames: [] }
    return response.ok ? listening(response, exchange) : whole(response, exchange)
  }

  async function listen(): Promise<string> {
    if (!base) throw new HarnessError('a proxy requires the URL of its upstream, not a fetch')
    proxy ??= serveProxy(record)
    return (await proxy).url
  }

  function learn(): void {
    for (const { request, response } of heard) {
      secrets.learn(request.url, request.headers)
      if (response) secrets.learn(request.url, response.headers)
    }
  }

  function recording(): string {
    learn()
    const first = heard.find(({ response }) => response)?.arrived ?? 0
    return formatRecording(heard.flatMap((exchange) => recorded(exchange, { first, secrets, kept })))
  }

  function drafts(): readonly string[] {
    learn()
    const month = new Date().toISOString().slice(0, 'yyyy-mm'.length)
    const found = heard.flatMap((exchange) => judged(exchange)).map((exchange) => draftOf(exchange, month))
    return [...new Set(found.filter((draft) => draft !== undefined))].map((draft) => secrets.text(draft))
  }

  function close(): Promise<void> {
    closed ??= shutDown()
    return closed
  }

  async function shutDown(): Promise<void> {
    await (await proxy)?.close()
    if (file !== undefined) {
      const path = typeof file === 'string' ? file : fileURLToPath(file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, recording())
    }
    const disproved = heard.flatMap((exchange) => judged(exchange)).flatMap((one) => [...disprovedBy(one)])
    if (disproved.length === 0) return
    learn()
    throw new DisprovedRuleError(new Map(disproved.map(([rule, how]) => [rule, secrets.text(how)])))
  }
}

/** The request and its response, for the rules. */
function judged({ wire, request, sentTo: url, body, response }: Heard): Judged[] {
  if (!response) return []
  const { status, frames } = response
  const error = status === 200 ? '' : Buffer.concat(frames.map(({ bytes }) => bytes)).toString()
  return [{ wire, url, headers: Object.fromEntries(request.headers), body: parsed(body), status, error }]
}

/** Headers that clients use. */
const KEPT = [
  'anthropic-beta',
  'anthropic-version',
  'content-type',
  'openai-beta',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
]

/** Headers of one connection, and of a body's compression, which is removed. */
const HOP = ['connection', 'content-encoding', 'content-length', 'host', 'keep-alive', 'transfer-encoding']

/** A request and its response as transferred, including secrets. */
interface Heard {
  readonly wire: WireName
  readonly request: Request
  /** The URL of the provider. */
  readonly sentTo: string
  readonly body: string
  readonly arrived: number
  response?: {
    readonly status: number
    readonly headers: Headers
    readonly frames: TimedBytes[]
    end?: RecordedEnd
  }
}

function forwarded(request: Request, body: Uint8Array<ArrayBuffer>, base: URL | undefined): Request {
  const { method, url, signal } = request
  const headers = unpacked(request.headers)
  headers.set('accept-encoding', 'identity')
  return new Request(base ? under(base, url) : url, { method, headers, signal, ...(body.length > 0 && { body }) })
}

function under(base: URL, asked: string): URL {
  const { pathname, search } = new URL(asked)
  const url = new URL(base)
  url.pathname = base.pathname.replace(/\/$/, '') + pathname
  url.search = search
  return url
}

function wireOf({ method, url }: Request): WireName | undefined {
  const { pathname } = new URL(url)
  return method === 'POST' ? wireAt(pathname)?.wire : undefined
}

/** Reads an error response to its end for the recording, because a client that retries does not read its body. */
async function whole(from: Response, { arrived, response }: Heard): Promise<Response> {
  const { status, statusText } = from
  const bytes = new Uint8Array(await from.arrayBuffer())
  const at = since(arrived)
  if (response) {
    if (bytes.length > 0) response.frames.push({ at, bytes })
    response.end = [at, 'complete']
  }
  return new Response(bytes.length > 0 ? bytes : null, { status, statusText, headers: unpacked(from.headers) })
}

/** The same response; everything the client reads is recorded. */
function listening(from: Response, { request, arrived, response }: Heard): Response {
  const { status, statusText } = from
  const reader = from.body?.getReader()
  const ended = (how: RecordedEnd[1]): void => {
    if (response) response.end = [since(arrived), how]
  }
  if (!reader) ended('complete')
  const body = reader && new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 })
  return new Response(body ?? null, { status, statusText, headers: unpacked(from.headers) })

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const piece = await reader?.read().catch((error: unknown) => {
      ended(request.signal.aborted ? 'left' : 'broken')
      throw error
    })
    if (!piece || piece.done) {
      ended('complete')
      return controller.close()
    }
    response?.frames.push({ at: since(arrived), bytes: piece.value.slice() })
    controller.enqueue(piece.value)
  }

  function cancel(reason: unknown): Promise<void> | undefined {
    ended('left')
    return reader?.cancel(reason)
  }
}

function unpacked(headers: Headers): Headers {
  const rest = new Headers(headers)
  for (const name of HOP) rest.delete(name)
  return rest
}

interface Writing {
  /** When the first request arrived. */
  readonly first: number
  readonly secrets: Redactor
  /** The names of the headers that are kept. */
  readonly kept: ReadonlySet<string>
}

function recorded(
  { wire, request, body, arrived, response }: Heard,
  { first, secrets, kept }: Writing,
): RecordedExchange[] {
  if (!response) return []
  const { pathname, search } = new URL(withoutSecrets(request.url))
  const { status, frames, end = [since(arrived), 'left'] } = response
  return [
    {
      request: {
        wire,
        arrived: tenths(arrived - first),
        path: secrets.text(pathname + search),
        headers: only(request.headers),
        body: secrets.json(parsed(body)),
      },
      response: { status, headers: only(response.headers), frames: secrets.pieces(frames), end },
    },
  ]

  function only(headers: Headers): Record<string, string> {
    return Object.fromEntries(
      [...headers].filter(([name]) => kept.has(name)).map(([name, value]) => [name, secrets.text(value)]),
    )
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function since(arrived: number): number {
  return tenths(clock() - arrived)
}

/** To a tenth of a millisecond. */
function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
