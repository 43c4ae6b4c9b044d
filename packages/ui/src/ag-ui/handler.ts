/** An endpoint that a client of AG-UI talks to. */

import type { OptionNames } from '@meanwhile/core'
import { eventStream } from '../event-stream.ts'
import { checkHandlerOptions, type HandlerOptions } from '../handler-options.ts'
import { refusalOf } from '../refusals.ts'
import { isJson, pathBelow } from '../requests.ts'
import { runEvents } from './run.ts'
import { runInputOf } from './run-input.ts'

export interface AgUiHandlerOptions<Context = unknown> extends HandlerOptions<Context> {
  /** The path of its URL. Default `/api/ag-ui`. */
  readonly base?: string
}

const OPTIONS: OptionNames<AgUiHandlerOptions> = { threads: '', base: '', open: '', errorText: '', output: '' }

/**
 * An endpoint for `HttpAgent`, over threads. `POST base` is a run. What it does depends on the end of the request:
 *
 * - A message of the user that the thread does not have is said. While another turn is running, the run waits.
 * - `resume` answers questions. An entry that is `cancelled` denies an approval, and stops the turn if anything else was asked.
 * - Results of tools that the client runs are given to the turn.
 * - `forwardedProps: { retry: true }` goes on with a turn that has failed.
 * - `forwardedProps: { rewind: messageId }` goes back to before a message of the user, and then the last message is said: to edit it. That
 *   may have the same id.
 * - An answer to what is not asked any more does nothing.
 * - Otherwise the run tells what the turn at work tells. So a page that is loaded again runs the agent without a message.
 *
 * Nothing else of the messages in the request counts: if they are not those of the thread, a `MESSAGES_SNAPSHOT` replaces them.
 *
 * A client that leaves stops nothing. `POST base/:threadId/stop` stops the turn, and responds when it has ended.
 *
 * @throws {ConfigError} An option cannot work; the error names it.
 */
export function agUiHandler<Context = unknown>(
  options: AgUiHandlerOptions<Context>,
): (request: Request) => Promise<Response> {
  checkHandlerOptions('agUiHandler', options, OPTIONS)
  const { threads, base = '/api/ag-ui', open, ...present } = options

  async function run(request: Request): Promise<Response> {
    if (!isJson(request)) return refused(415, 'The body must be application/json.')
    const input = runInputOf(await request.json().catch(() => undefined))
    if (!input) return refused(400, 'The body is no RunAgentInput.')
    const context = await open(request, input.threadId)
    if (context instanceof Response) return context
    return eventStream((signal) => runEvents({ threads, present, input, context, signal }))
  }

  async function stop(request: Request, threadId: string): Promise<Response> {
    const context = await open(request, threadId)
    if (context instanceof Response) return context
    try {
      await threads.stop(threadId, { signal: request.signal })
      return new Response(null, { status: 204 })
    } catch (error) {
      const refusal = error instanceof Error ? refusalOf(error) : undefined
      if (!refusal) throw error
      return refused(refusal.status, refusal.message)
    }
  }

  return async (request) => {
    const [threadId, action, ...more] = pathBelow(base, request) ?? ['']
    const isStop = threadId && action === 'stop' && more.length === 0
    if (threadId !== undefined && !isStop) return refused(404, 'There is nothing here.')
    if (request.method !== 'POST') return refused(405, 'Only POST is understood.')
    return isStop ? await stop(request, threadId) : await run(request)
  }
}

function refused(status: number, error: string): Response {
  return Response.json({ error }, { status })
}
