/** The options that the handlers of both protocols share. */

import { ConfigError, checkOptions, type Json, type OptionNames } from '@meanwhile/core'
import { checkCount } from '@meanwhile/core/calls'
import type { Threads, TurnState } from '@meanwhile/threads'
import type { OnError } from './error-reports.ts'
import { checkFileRules, type FileRules } from './page-files.ts'
import type { Present } from './present.ts'

/** `Context`: the type of the context that each run of the threads gets. */
export interface HandlerOptions<Context = unknown> extends Present {
  /**
   * Whether a page may answer an approval with another input for the call, which then runs with it. Default false: such an answer has the response
   * 400, the question stays open, and no question offers it.
   */
  readonly edits?: boolean
  /**
   * Returns who answers, such as the id of the user, from the context that `open` returned: a text of at most 256 characters. Each decision about an
   * approval has it as `by`. Default: decisions do not say who made them.
   */
  readonly by?: (context: SessionOf<NoInfer<Context>> | undefined) => string | undefined | Promise<string | undefined>
  /** The conversations. */
  readonly threads: Threads<Context>
  /** The path of the routes. */
  readonly base?: string
  /**
   * Authorizes each request before its body is read, for example by a session cookie or the address of the sender. Returns nothing, or a `Response`
   * that refuses the request. Any other value is an `AccessError`, and the response is 403. Default: every request is read.
   */
  readonly allow?: (request: Request) => Response | undefined | Promise<Response | undefined>
  /**
   * Authorizes each request before the thread is read or changed. Returns the context of the run, which is an object, `undefined` for none, or a
   * `Response` that refuses the request. Any other value, such as `null`, `false`, a text or an array, is an `AccessError`, and the response is
   * 403. Check the id of the thread, because it comes from the page. The body of the request has already been read. It is called again, with another
   * action, if the thread shows that the request does more.
   */
  readonly open: (
    request: Request,
    thread: string,
    access: Access,
  ) => Opened<NoInfer<Context>> | Promise<Opened<NoInfer<Context>>>
  /**
   * Returns small JSON that is stored with the turn of a message, from the context that `open` returned, such as the id of the user. With it a turn keeps
   * the rights of its sender to its end: no run gets the context of `open`, and `createThreads({ context })` or `durableRuns({ context })` makes that
   * of each run from this. Default: a run gets the context of the request that begins or continues it; with durable runs, none.
   */
  readonly metadata?: (context: SessionOf<NoInfer<Context>> | undefined, request: Request) => Json | Promise<Json>
  /**
   * The maximum size of a body, in bytes. A larger one has the response 413, and no more of it is read. Default 10,000,000; a positive integer or
   * `Infinity`.
   */
  readonly maxBytes?: number
  /**
   * Which files a page may put into its messages; `false`: none. Another file is refused with 400. Default: files of every type, as data or at an
   * `https:` address.
   */
  readonly files?: FileRules | false
  /**
   * Receives each error that is not the fault of the client, with its request: an `AccessError`, and errors of the store. The handler also throws those
   * of the store, unless the response has begun. What `allow` and `open` throw is only thrown. If `onError` itself throws, that only causes a warning.
   * Default: for errors that are not thrown, `process.emitWarning` with a `MeanwhileWarning`, once for each message.
   */
  readonly onError?: OnError
}

/**
 * What a request does, or asks to do:
 * - `send`: it adds a message that begins its own turn.
 * - `steer`: it adds a message to the running turn.
 * - `edit`, `regenerate`, `rewind`: it replaces a turn, and everything after it.
 * - `retry`: it continues a failed turn.
 * - `answer`: it answers questions of the waiting turn.
 * - `stop`: it stops a turn, also because its message preempts the turn or is written instead of an answer.
 * - `drop`: it takes a message out of the queue.
 * - `read`: it changes nothing.
 */
export type Action = 'send' | 'steer' | 'edit' | 'regenerate' | 'rewind' | 'retry' | 'answer' | 'stop' | 'drop' | 'read'

/** What `open` is asked. */
export interface Access {
  /** What the request does. */
  readonly action: Action
  /**
   * Reads the turn that this would change, with the `metadata` of its sender; undefined for a message that begins its own turn, and if there is no such
   * turn. If the request then meets another turn, it is refused with 409.
   */
  turn(): Promise<TurnState | undefined>
}

/** The return value of `open`. */
export type Opened<Context> = (SessionOf<Context> & ContextObject) | Response | undefined

/** The context that `open` returns: that of the runs. Durable runs make their own, so that `open` may return any object. */
export type SessionOf<Context> = [Context] extends [undefined] ? Readonly<Record<string, unknown>> : Context

/** An object without the methods of arrays, functions and promises. */
type ContextObject = object & {
  readonly lastIndexOf?: never
  readonly [Symbol.hasInstance]?: never
  readonly then?: never
}

/** The names of the options that both handlers have. */
export const HANDLER_OPTIONS: OptionNames<HandlerOptions> = {
  threads: 'agent',
  base: 'api path',
  allow: '',
  open: 'authorize',
  metadata: '',
  maxBytes: 'maxBodySize limit',
  files: 'attachments',
  onError: '',
  edits: '',
  by: '',
  errorText: '',
  output: '',
}

export const DEFAULT_MAX_BYTES = 10_000_000

/** @throws {ConfigError} An option is missing, unknown or not valid; the error names it. */
export function checkHandlerOptions(owner: string, options: object, names: OptionNames<HandlerOptions>): void {
  const { stream, send } = Object(options)
  if (stream || send)
    throw new ConfigError(
      'options',
      `must be an object: ${owner}({ threads, open }), with \`threads\` from createThreads()`,
    )
  checkOptions(owner, options, names)
  const { threads, open, base, maxBytes, files, edits, ...functions }: Partial<HandlerOptions> = options ?? {}
  if (typeof threads?.send !== 'function')
    throw new ConfigError('threads', 'must be the threads that createThreads() returns')
  if (typeof open !== 'function') throw new ConfigError('open', 'must be a function that authorizes a request')
  if (base !== undefined && !(typeof base === 'string' && base.startsWith('/')))
    throw new ConfigError('base', 'must be a path that starts with /')
  if (maxBytes !== undefined) checkCount('maxBytes', maxBytes)
  if (files !== undefined) checkFileRules(files)
  if (edits !== undefined && typeof edits !== 'boolean') throw new ConfigError('edits', 'must be true or false')
  const { allow, metadata, by, onError, errorText, output } = functions
  for (const [option, value] of Object.entries({ allow, metadata, by, onError, errorText, output }))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(option, 'must be a function')
}
