/** Defines `mcpTools`: the tools of a client that you connect yourself. */

import { ConfigError, type Tool } from '@meanwhile/core'
import type { Client, Transport } from '@modelcontextprotocol/client'
import { answerQuestions, type Connection } from './connection.ts'
import { McpAuthError, McpConnectionError } from './errors.ts'
import { listTools } from './list-tools.ts'
import { OpenCalls } from './open-calls.ts'
import { checkToolsOptions, fullLimits, type McpToolsOptions } from './options.ts'
import { loadSdk, type Sdk } from './sdk.ts'
import { toolSet } from './tool-set.ts'
import type { Way } from './way.ts'

/** The calls of clients that have been given before. */
const known = new WeakMap<Transport, OpenCalls>()

/**
 * The tools of a connected client. You close it. A lost connection is not opened again: {@link mcp} does that.
 *
 * @throws {ConfigError} An option is invalid, or the client is not connected.
 * @throws {McpLimitError} The server has more tools than the limit.
 */
export async function mcpTools(client: Client, options: McpToolsOptions): Promise<readonly Tool[]> {
  checkToolsOptions(options)
  const { server } = options
  const { transport } = client
  if (!transport) throw new ConfigError('client', `${server}: the client is not connected`)
  const sdk = await loadSdk()
  const connection: Connection = {
    sdk,
    client,
    calls: watched(client, transport, sdk),
    network: undefined,
    isClosed: () => client.transport !== transport,
    close: async () => {},
  }
  const way: Way = {
    server,
    async connection() {
      if (connection.isClosed()) throw new McpConnectionError(server, 'its client is not connected any more')
      return connection
    },
    drop: () => {},
    unauthorized: () => new McpAuthError(server, 'configure'),
  }
  const { limits, resources } = options
  const listing = await listTools(connection, { server, limits: fullLimits(limits), resources })
  return toolSet([{ way, listing }], [], options)
}

function watched(client: Client, transport: Transport, sdk: Sdk): OpenCalls {
  let calls = known.get(transport)
  if (calls) return calls
  calls = new OpenCalls()
  calls.watch(client, transport, sdk)
  known.set(transport, calls)
  try {
    answerQuestions(client, calls)
  } catch {
    // The client has not declared that it can ask, so its server does not.
  }
  return calls
}
