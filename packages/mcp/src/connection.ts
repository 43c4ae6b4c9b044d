/** One connection to a server. */

import { messageOf } from '@meanwhile/core'
import { unlessAborted } from '@meanwhile/core/calls'
import type { Client, ElicitRequest, FetchLike, PriorDiscovery, Transport } from '@modelcontextprotocol/client'
import { isOAuth, oneRefresh } from './auth.ts'
import { boundedResponse, limitedResponse, type Reading } from './bounded-response.ts'
import { LineBuffer } from './line-buffer.ts'
import { OpenCalls } from './open-calls.ts'
import type { HttpServer, Of, ServerOptions, StdioServer } from './options.ts'
import type { Sdk } from './sdk.ts'
import { commandOf, eachLine, GRACE } from './server-process.ts'

/** A connected client. */
export interface Connection {
  readonly sdk: Sdk
  readonly client: Client
  /** The calls that wait for an answer. */
  readonly calls: OpenCalls
  /** `network.transport` of the semantic conventions. */
  readonly network: 'pipe' | 'tcp' | undefined
  /** Whether nothing can be sent any more. */
  isClosed(): boolean
  close(): Promise<void>
}

/** What a connection needs to know. */
export interface Connecting<Context> {
  readonly sdk: Sdk
  readonly server: ServerOptions<Context>
  readonly context: Context
  /** Whether the server may ask the user something. */
  readonly mayAsk: boolean
  /** What is known of the server's protocol. On stdio, finding that out starts a second process. */
  readonly prior: PriorDiscovery | undefined
  /** The most bytes of a message. */
  readonly messageBytes: number
  /** Called when the list of tools of the server has changed. */
  readonly changed: () => void
  /** Ends the connecting. */
  readonly signal: AbortSignal
  /** Called with each line of the log of a server in its own process. */
  readonly logged: (line: string) => void
}

interface Opened {
  readonly transport: Transport
  readonly network: Connection['network']
  /** The process of the server, to be killed if it does not end by itself. */
  readonly pid?: () => number | null
  readonly grace?: number
}

/** Connects. Throws what the client throws. */
export async function connect<Context>(connecting: Connecting<Context>): Promise<Connection> {
  const { sdk, server, mayAsk, prior, changed, signal } = connecting
  const calls = new OpenCalls()
  const { transport, network, pid, grace = GRACE } = await open(connecting, calls)
  const client = new sdk.Client(CLIENT, {
    capabilities: mayAsk ? { elicitation: { form: {}, url: {} } } : {},
    versionNegotiation: { mode: 'auto', ...('command' in server && { probe: { timeoutMs: PROBE } }) },
    inputRequired: { autoFulfill: false },
    // At once: the next run may begin now.
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
  })
  if (mayAsk) answerQuestions(client, calls)
  let isClosed = false
  let closing: Promise<void> | undefined
  client.onclose = () => {
    isClosed = true
  }
  // What it reports here, such as progress of a call that has ended, does not make a call fail.
  client.onerror = () => {}
  // The client does not hand a signal to all that it waits for, but gives up when its transport closes.
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= closed(() => transport.close(), pid?.(), grace)
  }
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    await client.connect(transport, prior && 'command' in server ? { prior } : {})
    calls.watch(client, transport, sdk)
  } catch (error) {
    isClosed = true
    stop()
    await stopping
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return {
    sdk,
    client,
    calls,
    network,
    isClosed: () => isClosed,
    async close() {
      if (!isClosed) closing ??= closed(() => client.close(), pid?.(), grace)
      isClosed = true
      await closing
    },
  }
}

const CLIENT = { name: 'meanwhile', version: '0.1.0' }

/** How many milliseconds a process has to answer a request of the 2026 protocol. Servers of the 2025 protocol may be silent when they do not know a request. */
const PROBE = 10_000

/** Lets a server of the 2025 protocol ask. */
export function answerQuestions(client: Client, calls: OpenCalls): void {
  client.setRequestHandler('elicitation/create', (request: ElicitRequest) => calls.elicit(request))
}

/** `pid`: from before, because a transport that closes no longer tells it. */
async function closed(close: () => Promise<void>, pid: number | null | undefined, grace: number): Promise<void> {
  const timer = pid ? setTimeout(kill, grace, pid) : undefined
  try {
    await close()
  } catch {
    // It is not used again.
  } finally {
    clearTimeout(timer)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended, and what it has started still holds its output.
  }
}

async function open<Context>(connecting: Connecting<Context>, calls: OpenCalls): Promise<Opened> {
  const { sdk, server, context, messageBytes, signal } = connecting
  const reading: Reading = { messageBytes, takes: (message) => calls.takes(message) }
  if ('command' in server) return stdio(connecting, server, reading)
  if ('url' in server) return http(sdk, server, context, reading, calls)
  return { transport: await unlessAborted(Promise.resolve(server.connect(context)), [signal]), network: undefined }
}

async function stdio<Context>(
  { sdk, context, logged }: Connecting<Context>,
  server: StdioServer<Context>,
  reading: Reading,
): Promise<Opened> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const { stderr = () => {}, cwd, env, grace = GRACE } = server
  const transport = new StdioClientTransport({
    ...commandOf(server),
    env: { ...valueFor(env, context) },
    stderr: 'pipe',
    maxBufferSize: reading.messageBytes,
    ...(cwd !== undefined && { cwd }),
  })
  // The client has no option for it. A client without this member keeps its own buffer, which is only slower.
  if (Reflect.has(transport, '_readBuffer')) Reflect.set(transport, '_readBuffer', new LineBuffer(sdk, reading))
  // Always read: a server stops when the pipe is full.
  transport.stderr?.on(
    'data',
    eachLine((line) => {
      logged(line)
      heard(stderr, line)
    }),
  )
  return { transport, network: 'pipe', grace, ...(server.orphans === 'trust' && { pid: () => transport.pid }) }
}

/** Code that only listens must not end the process. */
function heard(stderr: (line: string) => void, line: string): void {
  try {
    stderr(line)
  } catch (error) {
    process.emitWarning(`stderr threw: ${messageOf(error)}`, { type: 'MeanwhileWarning', code: 'observer-failed' })
  }
}

function http<Context>(
  sdk: Sdk,
  server: HttpServer<Context>,
  context: Context,
  reading: Reading,
  calls: OpenCalls,
): Opened {
  const plain = server.fetch ?? fetch
  const address = new URL(valueFor(server.url, context))
  const given: FetchLike = async (url, init) => {
    const response = await plain(url, init)
    return String(url) === String(address) ? boundedResponse(response, reading) : limitedResponse(response, reading)
  }
  const authProvider = valueFor(server.authProvider, context)
  const requestInit = valueFor(server.requestInit, context)
  const withAuth = authProvider ? oneRefresh(sdk, authProvider, given) : { fetch: given }
  const transport = new sdk.StreamableHTTPClientTransport(address, {
    ...withAuth,
    ...(requestInit && { requestInit }),
    async fetch(url, init) {
      const event = init?.method === 'GET' && new Headers(init.headers).get('last-event-id')
      if (event) calls.resumed(event)
      return withAuth.fetch(url, init)
    },
  })
  return { transport, network: 'tcp' }
}

function valueFor<Value, Context>(given: Of<Value, Context>, context: Context): Value {
  return typeof given === 'function' ? (given as (context: Context) => Value)(context) : given
}

/** Whether the user can authorize at an address that the provider has received. */
export function mayRedirect<Context>(server: ServerOptions<Context> | undefined, context: Context): boolean {
  return server !== undefined && 'url' in server && isOAuth(valueFor(server.authProvider, context))
}
