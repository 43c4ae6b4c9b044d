/** The way to a server for one identity: a connection that is opened again when it is lost, and the tools of the server. */

import { unlessAborted } from '@meanwhile/core/calls'
import type { PriorDiscovery } from '@modelcontextprotocol/client'
import { type Connection, connect, mayRedirect } from './connection.ts'
import { McpAuthError, McpConnectionError, McpError } from './errors.ts'
import { faultOf, isSilent, reasonOf } from './faults.ts'
import { type Listing, listTools } from './list-tools.ts'
import type { FullLimits, ServerOptions } from './options.ts'
import { loadSdk } from './sdk.ts'
import type { Way } from './way.ts'

/** What the connections of a server have in common. */
export interface LinkOptions<Context> {
  readonly name: string
  readonly options: ServerOptions<Context>
  readonly context: Context
  readonly limits: FullLimits
  readonly mayAsk: boolean
  /** The protocols of servers, by their names, for all connections. On stdio, finding one out starts a second process. */
  readonly protocols: Map<string, PriorDiscovery>
  /** Called when no run needs it any more, and its connection is closed. */
  readonly gone: () => void
}

const TRIES = 3
const IDLE_AFTER = 300_000

/** Of the log of a server that cannot be reached. */
const MOST_LINES = 20
const LONGEST_LINE = 1_000

export class Link<Context> implements Way {
  readonly server: string
  readonly #options: LinkOptions<Context>
  #opening: Promise<Connection> | undefined
  /** The last lines that the process of the server has written to its standard error. */
  readonly #log: string[] = []
  /** Ends the opening. */
  #stop = new AbortController()
  #listing: Promise<Listing> | undefined
  /** Connections that are closed when the last of their requests has its answer. */
  readonly #dropped = new Set<Connection>()
  #holders = 0
  #idle: NodeJS.Timeout | undefined

  constructor(options: LinkOptions<Context>) {
    this.server = options.name
    this.#options = options
  }

  /** Keeps the connection open until the function that it returns is called. */
  hold(): () => void {
    this.#holders++
    clearTimeout(this.#idle)
    return () => {
      this.#holders--
      if (this.#holders > 0) return
      this.#idle = setTimeout(() => void this.close(), this.#options.options.idleAfter ?? IDLE_AFTER)
      this.#idle.unref()
    }
  }

  async connection(signal?: AbortSignal): Promise<Connection> {
    const signals = signal ? [signal] : []
    const opening = this.#opening
    const settled = opening?.catch(() => undefined)
    const open = settled && (await unlessAborted(settled, signals))
    if (open?.isClosed() && this.#opening === opening) this.#forgetConnection()
    this.#opening ??= this.#open()
    return await unlessAborted(this.#opening, signals)
  }

  drop(connection: Connection): void {
    const opening = this.#opening
    void opening?.then(
      (open) => {
        if (open === connection && this.#opening === opening) this.#forgetConnection()
      },
      () => {},
    )
    this.#dropped.add(connection)
    connection.calls.whenOver(() => {
      void connection.close().finally(() => this.#dropped.delete(connection))
    })
  }

  /** The tools of the server. Asks again when they have changed, or if the server does not notify of changes. */
  async list(signal: AbortSignal): Promise<Listing> {
    for (let tries = 1; ; tries++) {
      const connection = await this.connection(signal)
      const { client, sdk } = connection
      const { limits, options: server } = this.#options
      const about = { server: this.server, limits, resources: server.resources }
      const listing = this.#listing ?? listTools(connection, about)
      this.#listing = listing
      try {
        const found = await unlessAborted(listing, [signal])
        const hears = client.getProtocolEra() === 'legacy' || client.autoOpenedSubscription !== undefined
        if (!hears || !client.getServerCapabilities()?.tools?.listChanged) this.#forget(listing)
        return found
      } catch (error) {
        signal.throwIfAborted()
        this.#forget(listing)
        const isOver = isSilent(sdk, error) || !['unsent', 'expired', 'lost'].includes(faultOf(sdk, error))
        if (error instanceof McpError || isOver || tries === TRIES) throw this.#named(sdk, error)
        this.drop(connection)
      }
    }
  }

  unauthorized(): McpAuthError {
    const { options, context } = this.#options
    return new McpAuthError(this.server, mayRedirect(options, context) ? 'redirect' : 'configure')
  }

  #forgetConnection(): void {
    this.#opening = undefined
    this.#listing = undefined
  }

  #forget(listing: Promise<Listing>): void {
    if (this.#listing === listing) this.#listing = undefined
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#stop.abort()
    const open = this.#opening?.catch(() => undefined)
    this.#forgetConnection()
    this.#options.gone()
    await Promise.all([...this.#dropped, open].map(async (one) => (await one)?.close()))
  }

  async #open(): Promise<Connection> {
    const { options: server, context, limits, mayAsk, protocols } = this.#options
    const { messageBytes } = limits
    const stop = new AbortController()
    const { signal } = stop
    this.#stop = stop
    const sdk = await loadSdk()
    const changed = () => {
      this.#listing = undefined
    }
    const logged = (line: string) => {
      this.#log.push(line.slice(0, LONGEST_LINE))
      if (this.#log.length > MOST_LINES) this.#log.shift()
    }
    for (let tries = 1; ; tries++)
      try {
        this.#log.length = 0
        signal.throwIfAborted()
        const prior = protocols.get(this.server)
        const connection = await connect({ sdk, server, context, mayAsk, messageBytes, prior, changed, signal, logged })
        const discover = connection.client.getDiscoverResult()
        protocols.set(this.server, discover ? { kind: 'modern', discover } : { kind: 'legacy' })
        return connection
      } catch (error) {
        if (signal.aborted) throw new McpConnectionError(this.server, 'was closed before it was connected')
        // Another version of the server may have been installed.
        protocols.delete(this.server)
        const isOver = isSilent(sdk, error) || ['auth', 'refused', 'answered'].includes(faultOf(sdk, error))
        const isFinal = isOver || tries === TRIES
        if (!isFinal) {
          await new Promise((resolve) => setTimeout(resolve, 100 * 4 ** (tries - 1)))
          continue
        }
        this.#opening = undefined
        throw this.#named(sdk, error)
      }
  }

  /** The error with the name of the server. It has no cause, because the client's errors contain addresses and answers. */
  #named(sdk: Connection['sdk'], error: unknown): unknown {
    if (error instanceof McpError) return error
    if (faultOf(sdk, error) === 'auth') return this.unauthorized()
    const log = [...this.#log]
    const hint = log.length > 0 ? '. Its process has written to its standard error' : ''
    return new McpConnectionError(this.server, `cannot be reached (${reasonOf(sdk, error)})${hint}`, log)
  }
}
