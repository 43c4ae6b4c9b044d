/** The options that the handlers of both protocols share. */

import { ConfigError, checkOptions, type OptionNames } from '@meanwhile/core'
import type { Threads } from '@meanwhile/threads'
import type { Present } from './present.ts'

/** `Context`: the type of the context that each run of the threads gets. */
export interface HandlerOptions<Context = unknown> extends Present {
  /** The conversations. */
  readonly threads: Threads<Context>
  /** The path of the routes. */
  readonly base?: string
  /**
   * Authorizes each request before the thread is read or changed. Returns the context of the run, `undefined` for none, or a `Response` that rejects
   * the request. Check the id of the thread, because it comes from the page. The body of the request has already been read.
   */
  readonly open: (request: Request, thread: string) => Opened<NoInfer<Context>> | Promise<Opened<NoInfer<Context>>>
}

/** The return value of `open`. */
export type Opened<Context> = Context | Response | undefined

/** @throws {ConfigError} An option is missing, unknown or not valid; the error names it. */
export function checkHandlerOptions<Options extends HandlerOptions>(
  owner: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  checkOptions(owner, options, names)
  const { threads, open, base, errorText, output }: Partial<HandlerOptions> = options ?? {}
  if (typeof threads?.send !== 'function')
    throw new ConfigError('threads', 'must be the threads that createThreads() returns')
  if (typeof open !== 'function') throw new ConfigError('open', 'must be a function that authorizes a request')
  if (base !== undefined && !(typeof base === 'string' && base.startsWith('/')))
    throw new ConfigError('base', 'must be a path that starts with /')
  for (const [option, value] of Object.entries({ errorText, output }))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(option, 'must be a function')
}
