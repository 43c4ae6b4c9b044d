/** An HTTP endpoint for clients of AG-UI. */

import { jsonBody } from '../body.ts'
import { eventStream } from '../event-stream.ts'
import { guarded, type Report } from '../guarded.ts'
import { checkHandlerOptions, DEFAULT_MAX_BYTES, HANDLER_OPTIONS, type HandlerOptions } from '../handler-options.ts'
import { refusalOf } from '../refusals.ts'
import { CROSS_SITE, isJson, mayBeForged, pathBelow } from '../requests.ts'
import { noContent, refusalResponse } from '../responses.ts'
import { Visit } from '../visit.ts'
import { apply } from './apply.ts'
import { runEvents } from './run.ts'
import { runInputOf, unusedIn } from './run-input.ts'

/** The options of `agUiHandler`. */
export interface AgUiHandlerOptions<Context = unknown> extends HandlerOptions<Context> {
  /** The path of its URL. Default `/api/ag-ui`. */
  readonly base?: string
}

/**
 * Creates an endpoint for `HttpAgent`, over threads. `POST base` is a run. Its effect depends on the end of the request:
 *
 * - A user message that the thread does not have is added to the thread. If another turn is running, the run waits.
 * - `resume` answers questions. An entry that is `cancelled` denies an approval; for any other question it stops the turn.
 * - Results of tools that the client runs go to the turn.
 * - `forwardedProps: { regenerate: true }` answers the last message again, which begins the newest turn.
 * - `forwardedProps: { retry: true }` retries a failed turn.
 * - `forwardedProps: { rewind: messageId }` goes back to before a user message, and then adds the last message. This is how a user edits a message.
 *   The new message may have the same id.
 * - A list whose end the client has cut asks for the same, if `state.seenTurn` of the client is the newest turn, which is over: it was sent when the client
 *   had received everything of the turn. Its last message is answered again, or replaces what is missing.
 * - An answer to a question that is no longer open has no effect. An answer to a turn that was replaced, for example by an edit, is refused with 409.
 * - In all other cases the run streams the running turn. So after a reload the page starts a run without a new message.
 *
 * The other messages in the request are ignored. If they differ from the messages of the thread, a `MESSAGES_SNAPSHOT` replaces them.
 *
 * A message is refused with 429 if too many wait in the thread, and with 503 and `retry-after` if too many turns wait in the process.
 *
 * If a client disconnects, the turn continues. `POST base/:threadId/stop` stops the turn, and responds when it has ended.
 *
 * @throws {ConfigError} An option is not valid; the error names it.
 */
export function agUiHandler<Context = unknown>(
  options: AgUiHandlerOptions<Context>,
): (request: Request) => Promise<Response> {
  checkHandlerOptions('agUiHandler', options, HANDLER_OPTIONS)
  const { threads, base = '/api/ag-ui', maxBytes = DEFAULT_MAX_BYTES, files = {}, ...present } = options

  async function run(request: Request, report: Report): Promise<Response> {
    if (!isJson(request))
      return refusalResponse('UnsupportedMediaType', { status: 415, message: 'The body must be application/json.' })
    const input = runInputOf(await jsonBody(request, maxBytes))
    const unused = unusedIn(input, threads)
    if (unused !== undefined) return refusalResponse('UnusedInput', { status: 400, message: unused })
    const visit = new Visit<Context>(options, request, input.threadId)
    const given = { threads, present, input }
    const applied = await apply({ ...given, visit, files, signal: request.signal })
    return eventStream((signal) => runEvents({ ...given, signal, report }, applied))
  }

  async function stop(request: Request, threadId: string): Promise<Response> {
    if (mayBeForged(request)) return refusalResponse('CrossSiteRequest', { status: 403, message: CROSS_SITE })
    await new Visit<Context>(options, request, threadId).stop(request.signal)
    return noContent()
  }

  const guard = guarded('agUiHandler', options, maxBytes, (error) => {
    const refusal = refusalOf(error)
    return refusal && refusalResponse(error.name, refusal)
  })
  return async (request) => {
    const [threadId, action, ...more] = pathBelow(base, request) ?? ['']
    const isStop = threadId && action === 'stop' && more.length === 0
    if (threadId !== undefined && !isStop) return refusalResponse('NotFound', { status: 404, message: 'Not found.' })
    if (request.method !== 'POST')
      return refusalResponse('MethodNotAllowed', { status: 405, message: 'Only POST is supported.' })
    return guard(request, (report) => (isStop ? stop(request, threadId) : run(request, report)))
  }
}
