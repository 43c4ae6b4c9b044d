/** What the handlers of both protocols are given. */

import { ConfigError, checkOptions, type OptionNames } from '@meanwhile/core'
import type { Threads } from '@meanwhile/threads'
import type { Present } from './present.ts'

/** `Context`: the context that each run of the threads gets. */
export interface HandlerOptions<Context = unknown> extends Present {
  readonly threads: Threads<Context>
  /** The path of the routes. */
  readonly base?: string
  /**
   * Decides who may, before anything is read of the thread or happens in it: returns the context of the run, `undefined` for none, or a
   * `Response` that refuses. It is called for every request. The id of the thread comes from the page. The body of the request has been read.
   */
  readonly open: (request: Request, thread: string) => Opened<NoInfer<Context>> | Promise<Opened<NoInfer<Context>>>
}

/** What `open` returns. */
export type Opened<Context> = Context | Response | undefined

/** @throws {ConfigError} An option is missing, unknown, or cannot work; the error names it. */
export function checkHandlerOptions<Options extends HandlerOptions>(
  owner: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  checkOptions(owner, options, names)
  const { threads, open, base, errorText, output }: Partial<HandlerOptions> = options ?? {}
  if (typeof threads?.send !== 'function') throw new ConfigError('threads', 'must be what createThreads() returns')
  if (typeof open !== 'function') throw new ConfigError('open', 'must be a function that decides who may')
  if (base !== undefined && !(typeof base === 'string' && base.startsWith('/')))
    throw new ConfigError('base', 'must be a path that begins with /')
  for (const [option, value] of Object.entries({ errorText, output }))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(option, 'must be a function')
}
