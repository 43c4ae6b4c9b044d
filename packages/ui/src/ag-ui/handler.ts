/** An endpoint that a client of AG-UI talks to. */

import { ConfigError, checkOptions, type OptionNames } from '@meanwhile/core'
import type { Threads } from '@meanwhile/threads'
import { eventStream } from '../event-stream.ts'
import type { Present } from '../present.ts'
import { refusalOf } from './refusals.ts'
import { runEvents } from './run.ts'
import { runInputOf } from './run-input.ts'

export interface AgUiHandlerOptions extends Present {
  readonly threads: Threads
  /** The path of its URL. Default `/api/ag-ui`. */
  readonly base?: string
  /**
   * Decides who may: returns the context of the run, or the response that refuses the request. It is called for every request, before anything
   * is read of the thread. The body of the request has been read by then.
   */
  readonly open: (request: Request, threadId: string) => unknown
}

const OPTIONS: OptionNames<AgUiHandlerOptions> = { threads: '', base: '', open: '', errorText: '', output: '' }

/**
 * An endpoint for `HttpAgent`, over threads. `POST base` is a run. What it does depends on the end of the request:
 *
 * - A message of the user that the thread does not have is said. While another turn is running, the run waits.
 * - `resume` answers questions. An entry that is `cancelled` denies an approval, and stops the turn if anything else was asked.
 * - Results of tools that the client runs are given to the turn.
 * - `forwardedProps: { retry: true }` goes on with a turn that has failed.
 * - `forwardedProps: { rewind: messageId }` goes back to before a message of the user, and then the last message is said: to edit it.
 * - Otherwise the run tells what the turn at work tells. So a page that is loaded again runs the agent without a message.
 *
 * Nothing else of the messages in the request counts: if they are not those of the thread, a `MESSAGES_SNAPSHOT` replaces them.
 *
 * A client that leaves stops nothing. `POST base/:threadId/stop` stops the turn, and responds when it has ended.
 *
 * @throws {ConfigError} An option cannot work; the error names it.
 */
export function agUiHandler(options: AgUiHandlerOptions): (request: Request) => Promise<Response> {
  checkOptions('agUiHandler', options, OPTIONS)
  const { threads, base = '/api/ag-ui', open, ...present } = options
  if (typeof threads?.send !== 'function') throw new ConfigError('threads', 'must be what createThreads() gives')
  if (typeof open !== 'function') throw new ConfigError('open', 'must be a function that decides who may')

  async function run(request: Request): Promise<Response> {
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
      const { message, code } = refusalOf(error, present)
      return refused(code === undefined ? 500 : 409, message)
    }
  }

  return async (request) => {
    const [path, threadId] = partsBehind(base, new URL(request.url).pathname)
    if (path === undefined) return refused(404, 'There is nothing here.')
    if (request.method !== 'POST') return refused(405, 'Only POST is understood.')
    return threadId === undefined ? await run(request) : await stop(request, threadId)
  }
}

/** What of a path lies behind the base: nothing, or the id of a thread that is to be stopped. */
function partsBehind(base: string, pathname: string): readonly string[] {
  if (pathname === base) return ['']
  const [, id] = pathname.startsWith(`${base}/`) ? (/^([^/]+)\/stop$/.exec(pathname.slice(base.length + 1)) ?? []) : []
  try {
    return id === undefined ? [] : ['stop', decodeURIComponent(id)]
  } catch {
    return []
  }
}

function refused(status: number, error: string): Response {
  return Response.json({ error }, { status })
}
