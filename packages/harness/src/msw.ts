/** Scripted model endpoints mocked with MSW: as a `fetch` function, or in place of the global one. */

/// <reference lib="esnext.disposable" preserve="true" />

import { getResponse, type HttpHandler, http } from 'msw'
import { setupServer } from 'msw/node'
import { ConnectionError } from './connection-error.ts'
import { type EndpointOptions, modelEndpoint } from './endpoint.ts'
import { HarnessError } from './errors.ts'
import { fetchResponse } from './fetch-response.ts'
import { type JournalEntry, withoutSecrets } from './journal.ts'
import type { ResponseLog } from './log.ts'
import { checkEndpointOptions, SCRIPT_OPTIONS } from './script-checks.ts'
import { type Clock, systemClock } from './time.ts'
import type { Wire } from './wires/wire.ts'
import type { WireName } from './wires/wire-name.ts'
import { WIRE_NAMES } from './wires/wire-name.ts'
import { pathsOf, WIRES } from './wires/wires.ts'

/** The options of `mockModels`. */
export interface MockModelsOptions extends Omit<EndpointOptions, 'coalesce'> {
  /** The wires that are mocked; they share the script. Default: all three. */
  readonly wires?: readonly WireName[]
  /** The origin of the endpoints; requests to other origins are not mocked. Default: any origin. */
  readonly origin?: string
  /** Default: the machine's clock and the timers of the global scope. See `virtualClock`. */
  readonly clock?: Clock
}

/** Mocked model endpoints inside the process of the test. */
export interface MockModels extends Disposable {
  /**
   * A `fetch` function, for the option of a client: the most exact transport. A URL that is not mocked throws a {@link
   * HarnessError}.
   */
  readonly fetch: typeof fetch
  /**
   * Mocks the global fetch, and everything else that MSW intercepts, until {@link close}. Other requests do not reach
   * the network: they get a status 500 with the reason.
   */
  listen(): void
  /** Ends the mock of the global fetch. */
  close(): void
  /** For your own `setupServer`. */
  readonly handlers: readonly HttpHandler[]
  /** The received requests, without their secrets. */
  readonly requests: readonly JournalEntry[]
  /** What was sent, and when. */
  readonly responses: readonly ResponseLog[]
  /** Throws the error of the first unexpected request, or an error that names the unused responses. */
  assertComplete(): void
}

/**
 * Mocks model endpoints that respond from a script. All wires share one script; its responses are used in the order of
 * the requests, whatever their wire. An unexpected request gets a status 500 that states what was expected, and makes
 * {@link MockModels.assertComplete} throw. Timers are those of the global scope, so fake timers work.
 *
 * @example
 * const mock = mockModels({ script: [respond(say('Hello'))] })
 * const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
 */
export function mockModels(options: MockModelsOptions): MockModels {
  checkEndpointOptions('mockModels', options, { ...SCRIPT_OPTIONS, wires: '', origin: 'baseURL', clock: '' })
  const { clock = systemClock } = options
  const endpoint = modelEndpoint(options)
  const handlers = (options.wires ?? WIRE_NAMES).flatMap((name) => handlersOf(WIRES[name]))
  const server = setupServer(...handlers)
  const failures = new WeakMap<Response, ConnectionError>()
  const close = (): void => server.close()

  return {
    fetch: fetchMocked,
    listen: () => server.listen({ onUnhandledFrame: ({ frame }) => refuse(frame.data) }),
    close,
    [Symbol.dispose]: close,
    handlers,
    requests: endpoint.requests,
    responses: endpoint.responses,
    assertComplete: endpoint.assertComplete,
  }

  function handlersOf(wire: Wire): HttpHandler[] {
    return pathsOf(wire).map((path) => handlerOf(wire, path))
  }

  function handlerOf(wire: Wire, path: string): HttpHandler {
    return http.post((options.origin ?? '*') + path, async ({ request }) => {
      const { method, url, headers } = request
      const received = { method, url, headers, body: await request.text() }
      const answer = endpoint.answer(wire, received, clock.now())
      try {
        return await fetchResponse(answer, request.signal, clock)
      } catch (error) {
        // The client has aborted; MSW would report the error.
        if (request.signal.aborted) return Response.error()
        if (!(error instanceof ConnectionError)) throw error
        const failure = Response.error()
        failures.set(failure, error)
        return failure
      }
    })
  }

  async function fetchMocked(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const request = new Request(input, init)
    request.signal.throwIfAborted()
    const response = await getResponse(handlers, request)
    request.signal.throwIfAborted()
    if (!response) throw notMocked(request)
    const failure = failures.get(response)
    if (failure) throw failure
    return response
  }

  /** Throws a response that MSW sends. The request reaches nothing else. */
  function refuse(data: unknown): never {
    const request = typeof data === 'object' && data !== null && 'request' in data ? data.request : undefined
    if (!(request instanceof Request)) throw new HarnessError('only HTTP requests are mocked, not this connection')
    const error = { message: notMocked(request).message }
    throw Response.json({ error }, { status: 500, headers: { 'x-should-retry': 'false' } })
  }

  function notMocked({ method, url }: Request): HarnessError {
    const { origin = '', wires = WIRE_NAMES } = options
    const mocked = wires.map((wire) => `${origin}${WIRES[wire].path}`).join(', ')
    const error = new HarnessError(`${method} ${withoutSecrets(url)} is not mocked; mocked are: POST ${mocked}`)
    endpoint.reject(error)
    return error
  }
}
