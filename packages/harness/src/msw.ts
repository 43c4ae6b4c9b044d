/** Model endpoints mocked with MSW: as a `fetch`, or under the global one. */

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
import type { Wire, WireName } from './wires/wire.ts'
import { WIRE_NAMES, WIRES } from './wires/wires.ts'

export interface MockModelsOptions extends Omit<EndpointOptions, 'coalesce'> {
  /** The wires it speaks, all on the same script. Default: all three. */
  readonly wires?: readonly WireName[]
  /** Where the endpoints are: requests to other places are not mocked. Default: any origin. */
  readonly origin?: string
  /** Default: the machine's clock and the timers of the global scope. See `virtualClock`. */
  readonly clock?: Clock
}

export interface MockModels extends Disposable {
  /** For the `fetch` option of a client: the exact transport. A URL that is not mocked throws a {@link HarnessError}. */
  readonly fetch: typeof fetch
  /**
   * Mocks the global fetch, and whatever else MSW intercepts, until {@link close}. Other requests reach no network: they get a
   * status 500 that says so.
   */
  listen(): void
  close(): void
  /** For your own `setupServer`. */
  readonly handlers: readonly HttpHandler[]
  /** The requests that came, without their secrets. */
  readonly requests: readonly JournalEntry[]
  /** What was sent, and when. */
  readonly responses: readonly ResponseLog[]
  /** Throws the first unexpected request, or names the responses nobody asked for. */
  assertComplete(): void
}

/**
 * Model endpoints that speak a script. One script serves every wire; responses are used in the order in which requests come,
 * whatever wire they come on. An unexpected request gets a status 500 that says what was expected, and makes
 * {@link MockModels.assertComplete} throw. Timers are those of the global scope, so fake timers drive it.
 *
 * Needs Node 22.12 or newer, as msw 3 does.
 *
 * @example
 * const mock = mockModels({ script: [respond(say('Hello'))] })
 * const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
 */
export function mockModels(options: MockModelsOptions): MockModels {
  checkEndpointOptions('mockModels', options, { ...SCRIPT_OPTIONS, wires: '', origin: 'baseURL', clock: '' })
  const { clock = systemClock } = options
  const endpoint = modelEndpoint(options)
  const handlers = (options.wires ?? WIRE_NAMES).map((name) => handlerOf(WIRES[name]))
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

  function handlerOf(wire: Wire): HttpHandler {
    return http.post((options.origin ?? '*') + wire.path, async ({ request }) => {
      const { method, url, headers } = request
      const received = { method, url, headers, body: await request.text() }
      const answer = endpoint.answer(wire, received, clock.now())
      try {
        return await fetchResponse(answer, request.signal, clock)
      } catch (error) {
        // A client that has left knows why: MSW would report it.
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

  /** MSW answers with the response that is thrown; the request goes nowhere else. */
  function refuse(data: unknown): never {
    const request = typeof data === 'object' && data !== null && 'request' in data ? data.request : undefined
    if (!(request instanceof Request)) throw new HarnessError('a connection that is no HTTP request is not mocked')
    const error = { message: notMocked(request).message }
    throw Response.json({ error }, { status: 500, headers: { 'x-should-retry': 'false' } })
  }

  function notMocked({ method, url }: Request): HarnessError {
    const { origin = '', wires = WIRE_NAMES } = options
    const mocked = wires.map((wire) => `${origin}${WIRES[wire].path}`).join(', ')
    const error = new HarnessError(`${method} ${withoutSecrets(url)} is not mocked: POST ${mocked} are`)
    endpoint.reject(error)
    return error
  }
}
