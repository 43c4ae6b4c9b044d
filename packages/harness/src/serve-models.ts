/** Scripted model endpoints on a plain HTTP server in this process. */

/// <reference lib="esnext.disposable" preserve="true" />

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { OptionNames } from '@meanwhile/core'
import { clock } from './clock.ts'
import { type Endpoint, type EndpointOptions, modelEndpoint } from './endpoint.ts'
import { HarnessError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import type { ResponseLog } from './log.ts'
import { listenHere } from './loopback.ts'
import { type Answer, play } from './play.ts'
import type { Broken } from './raw.ts'
import { bodyOfRequest } from './request-body.ts'
import type { ScriptedReply } from './script.ts'
import { checkEndpointOptions, checkScript, SCRIPT_OPTIONS } from './script-checks.ts'
import { type Clock, preciseClock, systemClock } from './time.ts'
import { WIRES, wireAt } from './wires/wires.ts'

/** A script that is being served. */
export interface Served extends AsyncDisposable {
  /**
   * The base URL for Anthropic's client; for OpenAI's append `/v1`, or the path that a host of Chat has in its place. The
   * server's own script is at its root, each loaded one at `/s/<id>`, with its own requests, responses and log, so that
   * several runs can share a server.
   */
  readonly url: string
  /** What was sent, and when, by the harness's clock; in the order of the requests. */
  log(): Promise<readonly ResponseLog[]>
  requests(): Promise<readonly JournalEntry[]>
  /** Rejects with the error of the first unexpected request, or with an error that names the unused responses. */
  assertComplete(): Promise<void>
  /** Stops serving the script and drops its log. */
  close(): Promise<void>
}

export interface ModelServer extends Served {
  /**
   * Serves another script, at its own URL. Rejects with a {@link HarnessError} if 1,000 loaded scripts have not been
   * closed, because each keeps its requests and its log.
   */
  load(options: ServedOptions): Promise<Served>
  /** Closes the server and every connection. */
  close(): Promise<void>
}

/**
 * As for the mocks, except that a script cannot be a function. Without a pace, writes are joined up to 16 KB;
 * `coalesce` changes this limit.
 */
export interface ServedOptions extends EndpointOptions {
  readonly script?: readonly ScriptedReply[]
}

/** The options of `serveModels`. */
export interface ServeModelsOptions extends EndpointOptions {
  /** Sends within a fraction of a millisecond of the due time, by busy-waiting for the last 2 ms. Default false. */
  readonly precise?: boolean
}

const COALESCE = 16 * 1024
const MOST_SCRIPTS = 1_000

export const SERVED_OPTIONS: OptionNames<ServedOptions> = { ...SCRIPT_OPTIONS, coalesce: '' }

/** Serves scripts on 127.0.0.1 at a free port. */
export async function serveModels(options: ServeModelsOptions = {}): Promise<ModelServer> {
  checkEndpointOptions('serveModels', options, { ...SERVED_OPTIONS, precise: '' })
  checkScript(options.script ?? [])
  const endpoints = new Map<string, Endpoint>()
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveTimeout: 60_000 }, (request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  const { url: origin, close: shutDown } = await listenHere(server)
  let loaded = 0

  const root = serve('', options, shutDown)
  return {
    ...root,
    async load(more) {
      checkEndpointOptions('load', more, SERVED_OPTIONS)
      // One more: that of the server itself.
      if (endpoints.size > MOST_SCRIPTS)
        throw new HarnessError(`${MOST_SCRIPTS} scripts are loaded: close those that are no longer needed`)
      return serve(`/s/${++loaded}`, more)
    },
  }

  function serve(
    prefix: string,
    { coalesce = COALESCE, ...rest }: EndpointOptions,
    close?: () => Promise<void>,
  ): Served {
    const endpoint = modelEndpoint({ ...rest, coalesce })
    endpoints.set(prefix, endpoint)
    const forget = close ?? (async () => void endpoints.delete(prefix))
    return {
      url: origin + prefix,
      log: async () => endpoint.responses,
      requests: async () => endpoint.requests,
      assertComplete: async () => endpoint.assertComplete(),
      close: forget,
      [Symbol.asyncDispose]: forget,
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrived = clock()
    const url = new URL(request.url ?? '/', origin)
    const body = (await bodyOfRequest(request)).toString('utf8')
    const { wire, prefix = '' } = wireAt(url.pathname) ?? {}
    const endpoint = endpoints.get(prefix)
    if (!wire || !endpoint || request.method !== 'POST') {
      response.writeHead(404, { 'content-type': 'application/json', 'x-should-retry': 'false' })
      response.end(JSON.stringify({ error: { message: `${request.method} ${url.pathname} is not served` } }))
      return
    }
    const headers = Object.entries(request.headers).map(([key, value]) => [key, String(value)] as const)
    const received = { method: request.method, url: url.href, headers, body }
    await send(endpoint.answer(WIRES[wire], received, arrived), response, options.precise ? preciseClock : systemClock)
  }
}

async function send(answer: Answer, response: ServerResponse, clock: Clock): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  if (answer.framing === 'close') {
    response.useChunkedEncodingByDefault = false
    response.shouldKeepAlive = false
  }
  const sink = {
    open: () => void response.writeHead(answer.status, answer.headers),
    write(bytes: Uint8Array) {
      const more = response.write(bytes)
      // Node delays a response's writes until the next tick to join them; this sends them now.
      response.socket?.uncork()
      if (!more && !left.signal.aborted) return drained(response)
    },
    close: () => void response.end(),
    breakOff: (how: Broken) => breakOff(response.socket, how),
  }
  await play(answer, sink, { signal: left.signal, clock })
}

function breakOff(socket: Socket | null, how: Broken): void {
  if (how === 'bad-chunk') socket?.write('no size\r\n')
  if (how === 'reset') socket?.resetAndDestroy()
  else socket?.destroySoon()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', settle)
    response.once('close', settle)

    function settle(): void {
      response.off('drain', settle)
      response.off('close', settle)
      resolve()
    }
  })
}
