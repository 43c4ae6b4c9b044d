/** The options of `mcp` and `mcpTools`, and their checks. */

import { ConfigError, type ContextReader, checkOptions, type Effect, type OptionNames } from '@meanwhile/core'
import type {
  AuthProvider,
  ElicitResult,
  FetchLike,
  OAuthClientProvider,
  Transport,
} from '@modelcontextprotocol/client'
import type { McpDefinition } from './definition.ts'
import type { Drift } from './drift.ts'
import type { McpQuestion } from './questions.ts'

/** A value, or a function that returns it for the context of a run. */
export type Of<Value, Context> = Value | ((context: Context) => Value)

/** What `authProvider` may be. */
export type McpAuth = AuthProvider | OAuthClientProvider

/** The options of every server. */
export interface AnyServer<Context = unknown> {
  /** Whether a run begins without the tools of this server if it cannot be reached, with the warning `mcp-server`. Default `false`. */
  readonly optional?: boolean
  /**
   * Whose connection it is: runs share a connection only if this returns the same text for their context. Required if another option of the server is a
   * function. Default: one connection for all runs.
   */
  readonly identity?: (context: Context) => string
  /** After how many milliseconds without a run the connection is closed. Default 300,000. */
  readonly idleAfter?: number
  /** Whether the model gets tools that list and read the resources of this server. Both have the effect `read`. Default `false`. */
  readonly resources?: boolean
}

/** A server in its own process, which is started for each connection. */
export interface StdioServer<Context = unknown> extends AnyServer<Context> {
  /** The program, by its path or by its name in `PATH`. */
  readonly command: string
  /** Its arguments. */
  readonly args?: readonly string[]
  /** Added to the few variables that every server gets, such as `PATH` and `HOME`. */
  readonly env?: Of<Readonly<Record<string, string>>, Context>
  /** Its working directory. Default: that of this process. */
  readonly cwd?: string
  /** Called with each line that the server writes to its standard error. Default: the lines are read and dropped. */
  readonly stderr?: (line: string) => void
  /** How many milliseconds the server has to end before it is killed. Default 800. */
  readonly grace?: number
  /**
   * `guard`: a second small process kills the server and what it has started when this process has ended, even by `SIGKILL`. `trust`: the server ends
   * by itself when its standard input is closed. Default `guard`; on Windows always `trust`.
   */
  readonly orphans?: 'guard' | 'trust'
}

/** A server that speaks streamable HTTP. */
export interface HttpServer<Context = unknown> extends AnyServer<Context> {
  /** The address of its endpoint. */
  readonly url: Of<string | URL, Context>
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: FetchLike
  /** Where tokens come from, as the official client defines it. */
  readonly authProvider?: Of<McpAuth, Context>
  /** Added to each request, such as headers. */
  readonly requestInit?: Of<RequestInit, Context>
}

/** A server behind your own transport. */
export interface TransportServer<Context = unknown> extends AnyServer<Context> {
  /** Returns a transport of the official client that has not been started, for each connection. */
  readonly connect: (context: Context) => Transport | Promise<Transport>
}

/** Where a server is, and how to reach it. */
export type ServerOptions<Context = unknown> = StdioServer<Context> | HttpServer<Context> | TransportServer<Context>

/** Limits of what a server may send. */
export interface McpLimits {
  /** The most tools of a server. Default 256. */
  readonly tools?: number
  /** The most bytes of a message of the server. A longer one ends the connection. Default 32 MiB. */
  readonly messageBytes?: number
  /** The most bytes of a schema. Default 256 KiB: one of a public server has 71,381. */
  readonly schemaBytes?: number
  /** The deepest nesting of a schema. Default 64. */
  readonly schemaDepth?: number
  /** The most characters of a text that a model reads; more is cut. Default 100,000. */
  readonly text?: number
  /** The most bytes of a file that a model reads. Default 8 MiB. */
  readonly fileBytes?: number
  /** The most progress events of a call per second. Default 10. */
  readonly progress?: number
}

/** Options that `mcp` and `mcpTools` share. Names of tools are the server's. */
export interface Shared {
  /** Whether tools have the name of their server before their own. Default: only where names clash. `false`: a clash is an error. */
  readonly prefix?: boolean
  /** The tools to add. Default: all. */
  readonly include?: readonly string[] | ((tool: McpDefinition) => boolean)
  /** The tools to leave out. */
  readonly exclude?: readonly string[]
  /**
   * `annotations`: a tool that its server marks with `readOnlyHint` has the effect `read`, so that its calls start early and may be repeated. Only for
   * servers whose code you trust. Default `none`: every tool is `external`.
   */
  readonly trust?: 'none' | 'annotations'
  /** Effects of tools. They count more than annotations. */
  readonly effects?: Readonly<Record<string, Effect | ((input: Record<string, unknown>) => Effect)>>
  /**
   * Which calls are made a second time if their answer was lost: those with the effect `read`, and, with `trust: 'annotations'`, those of tools with
   * `idempotentHint`. Default `['read']`.
   */
  readonly repeat?: readonly ('read' | 'idempotentHint')[]
  /** What happens when a server asks the user something. `interrupt`: the run asks, and a resume answers. Default `interrupt`. */
  readonly questions?:
    | 'interrupt'
    | 'decline'
    | ((question: McpQuestion, options: { readonly signal: AbortSignal }) => Promise<ElicitResult>)
  /**
   * Whether a call may be made again with the answer to its question. Only for servers of the 2025 protocol, whose questions end with their call.
   * Default: if its effect is `read`.
   */
  readonly askAgain?: boolean | ((tool: string) => boolean)
  /** The hashes of definitions, from `mcpOf`, by name of the tool. Another definition ends the run with `McpDriftError` before anything runs. */
  readonly pin?: Readonly<Record<string, string>>
  /** Called before a resumed run continues, if definitions have changed since it began. */
  readonly onDrift?: (changes: readonly Drift[]) => void
  /** Limits of what a server may send. */
  readonly limits?: McpLimits
  /** The time limit of a call in milliseconds. Default: none. */
  readonly timeout?: number
  /** How many milliseconds a call waits after its broken stream was resumed. Then its answer is lost. Default 10,000. */
  readonly lostAfter?: number
}

/** The options of `mcp`. */
export interface McpOptions<Context = unknown> extends Shared {
  /** The servers, by the names that errors and prefixes have. */
  readonly servers: Readonly<Record<string, ServerOptions<Context>>>
  /** Reads the part of the run's context that functions in `servers` receive. */
  readonly context?: ContextReader<Context>
}

/** The options of `mcpTools`. */
export interface McpToolsOptions extends Shared {
  /** The name of the server in errors and prefixes. */
  readonly server: string
  /** Whether the model gets tools that list and read the resources of the server. Both have the effect `read`. Default `false`. */
  readonly resources?: boolean
}

/** The limits, each with its value. */
export type FullLimits = Required<McpLimits>

export function fullLimits(limits: McpLimits = {}): FullLimits {
  return {
    tools: limits.tools ?? 256,
    messageBytes: limits.messageBytes ?? 32 * 1024 * 1024,
    schemaBytes: limits.schemaBytes ?? 256 * 1024,
    schemaDepth: limits.schemaDepth ?? 64,
    text: limits.text ?? 100_000,
    fileBytes: limits.fileBytes ?? 8 * 1024 * 1024,
    progress: limits.progress ?? 10,
  }
}

const SHARED: OptionNames<Shared> = {
  prefix: 'toolPrefix prefixToolNames',
  include: 'allowedTools',
  exclude: 'disallowedTools',
  trust: '',
  effects: '',
  repeat: 'retry',
  questions: 'elicitation',
  askAgain: '',
  pin: '',
  onDrift: '',
  limits: '',
  timeout: '',
  lostAfter: '',
}

const ANY = { optional: '', identity: '', idleAfter: '', resources: '' }
const STDIO: OptionNames<StdioServer> = {
  ...ANY,
  command: '',
  args: '',
  env: '',
  cwd: '',
  stderr: '',
  grace: '',
  orphans: '',
}
const HTTP: OptionNames<HttpServer> = { ...ANY, url: '', fetch: '', authProvider: '', requestInit: 'headers' }
const OWN: OptionNames<TransportServer> = { ...ANY, connect: 'transport' }

/** @throws {ConfigError} An option is invalid. */
export function checkMcpOptions<Context>(options: McpOptions<Context>): void {
  checkOptions<McpOptions<Context>>('mcp', options, { ...SHARED, servers: 'mcpServers', context: '' })
  checkShared(options)
  if (typeof options.servers !== 'object' || options.servers === null)
    throw new ConfigError('servers', 'must be an object with the servers by name')
  for (const [name, server] of Object.entries(options.servers)) checkServer(name, server, options.context !== undefined)
}

/** @throws {ConfigError} An option is invalid. */
export function checkToolsOptions(options: McpToolsOptions): void {
  checkOptions<McpToolsOptions>('mcpTools', options, { ...SHARED, server: 'name', resources: '' })
  if (typeof options?.server !== 'string' || options.server === '')
    throw new ConfigError('server', 'must be the name of the server, for errors')
  checkShared(options)
}

function checkShared({
  trust = 'none',
  repeat = [],
  limits,
  timeout,
  lostAfter,
  questions = 'interrupt',
}: Shared): void {
  if (trust !== 'none' && trust !== 'annotations') throw new ConfigError('trust', 'must be none or annotations')
  if (repeat.some((one) => one !== 'read' && one !== 'idempotentHint'))
    throw new ConfigError('repeat', 'must be a list of read and idempotentHint')
  if (typeof questions !== 'function' && questions !== 'interrupt' && questions !== 'decline')
    throw new ConfigError('questions', 'must be interrupt, decline or a function')
  const names = { tools: '', messageBytes: '', schemaBytes: '', schemaDepth: '', text: '', fileBytes: '', progress: '' }
  checkOptions<McpLimits>('mcp', limits, names, 'limits.')
  const numbers = { ...limits, timeout, lostAfter }
  for (const [name, value] of Object.entries(numbers))
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw new ConfigError(name in { timeout, lostAfter } ? name : `limits.${name}`, 'must be a number above 0')
}

function checkServer<Context>(name: string, server: ServerOptions<Context>, hasContext: boolean): void {
  const of = `servers.${name}.`
  if (name === '') throw new ConfigError('servers', 'a server has an empty name')
  if (typeof server !== 'object' || server === null)
    throw new ConfigError(`servers.${name}`, 'must be an object with command, url or connect')
  if ('command' in server) checkOptions('mcp', server, STDIO, of)
  else if ('url' in server) {
    checkOptions('mcp', server, HTTP, of)
    if (typeof server.url !== 'function' && !isHttp(server.url))
      throw new ConfigError(`${of}url`, 'must begin with http:// or https://')
  } else if ('connect' in server) checkOptions('mcp', server, OWN, of)
  else throw new ConfigError(`servers.${name}`, 'must have command, url or connect')
  const perUser = perUserOptions(server)
  if (perUser.length > 0 && !server.identity)
    throw new ConfigError(
      `${of}identity`,
      `is required, because ${perUser.join(' and ')} depends on the context of the run`,
    )
  if (server.identity && !hasContext)
    throw new ConfigError('context', `is required, because servers.${name} has an identity`)
}

function isHttp(url: string | URL): boolean {
  return URL.canParse(String(url)) && /^https?:$/.test(new URL(url).protocol)
}

function perUserOptions<Context>(server: ServerOptions<Context>): readonly string[] {
  const given: Readonly<Record<string, unknown>> = { ...server }
  return ['env', 'url', 'authProvider', 'requestInit'].filter((name) => typeof given[name] === 'function')
}
