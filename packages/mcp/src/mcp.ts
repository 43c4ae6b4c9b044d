/** The middleware `mcp()`: the tools of MCP servers. */

import { type Middleware, type Run, runLocal } from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import type { PriorDiscovery } from '@modelcontextprotocol/client'
import { McpError } from './errors.ts'
import { KnownTools } from './known-tools.ts'
import { Link } from './link.ts'
import { checkMcpOptions, fullLimits, type McpOptions, type ServerOptions } from './options.ts'
import { type ServerTools, toolSet, unknownNames } from './tool-set.ts'

/** What `mcp` returns. `close` closes all connections; a run that still needs one opens it again. A run that is just connecting fails. */
export interface McpMiddleware extends Middleware, AsyncDisposable {
  close(): Promise<void>
}

/**
 * Adds the tools of MCP servers to each run. It connects when a run begins or is resumed, at most once for each server and identity, and runs share
 * the connections. A run keeps the tools that it began with.
 *
 * Without `trust` every tool is `external`. With `trust: 'annotations'` a tool that its server marks with `readOnlyHint` is a `read`: `eagerTools()`
 * starts its calls while the model is streaming. A call that may have acted is never made twice: if its answer is lost, the model reads that it
 * may have happened, and `result.unknown` has its id.
 *
 * @throws {ConfigError} An option is invalid.
 */
export function mcp<Context = unknown>(options: McpOptions<Context>): McpMiddleware {
  checkMcpOptions(options)
  const { servers, context: reader, questions, onDrift } = options
  const links = new Map<string, Link<Context>>()
  const protocols = new Map<string, PriorDiscovery>()
  const known = new KnownTools()
  const held = runLocal(() => new Map<Link<Context>, () => void>())

  function linkTo(name: string, server: ServerOptions<Context>, run: Run): Link<Context> {
    const context = reader?.(run) as Context
    const key = JSON.stringify([name, server.identity?.(context) ?? ''])
    const link = links.get(key) ?? begun(key, name, server, context)
    const holds = held(run)
    if (!holds.has(link)) holds.set(link, link.hold())
    return link
  }

  function begun(key: string, name: string, server: ServerOptions<Context>, context: Context): Link<Context> {
    // A run may still use a link that was closed, and let it go when the next one stands in its place.
    const gone = () => {
      if (links.get(key) === link) links.delete(key)
    }
    const limits = fullLimits(options.limits)
    const mayAsk = questions !== 'decline'
    const link = new Link({ name, options: server, context, limits, mayAsk, protocols, gone })
    links.set(key, link)
    return link
  }

  async function toolsOf(name: string, server: ServerOptions<Context>, run: Run): Promise<readonly ServerTools[]> {
    const way = linkTo(name, server, run)
    try {
      return [{ way, listing: await way.list(run.signal) }]
    } catch (error) {
      if (!server.optional || !(error instanceof McpError)) throw error
      run.warn({ code: 'mcp-server', message: error.message })
      return []
    }
  }

  async function close(): Promise<void> {
    await Promise.all([...links.values()].map((link) => link.close()))
  }

  return branded('middleware', {
    name: 'mcp',
    ...(reader && { context: reader }),
    onRun(run) {
      const holds = held(run)
      return () => {
        for (const release of holds.values()) release()
      }
    },
    async beforeAgent(setup, run) {
      const lists = await Promise.all(Object.entries(servers).map(([name, server]) => toolsOf(name, server, run)))
      const found = lists.flat()
      const problems = found.flatMap(({ listing }) => listing.problems)
      // An optional server that is down may have them.
      const unknown = found.length === lists.length ? unknownNames(found, options) : []
      for (const message of [...problems, ...unknown]) run.warn({ code: 'mcp-tool', message })
      const made = toolSet(
        found,
        setup.tools.map(({ name }) => name),
        options,
      )
      const { tools, changes } = known.toolsFor(run, made)
      if (changes.length > 0) onDrift?.(changes)
      return { ...setup, tools: [...setup.tools, ...tools] }
    },
    close,
    [Symbol.asyncDispose]: close,
  } satisfies McpMiddleware)
}
