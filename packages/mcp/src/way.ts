/** How a call reaches its server. */

import type { Connection } from './connection.ts'
import type { McpAuthError } from './errors.ts'

export interface Way {
  /** The name of the server. */
  readonly server: string
  /** An open connection. `signal` ends only the wait. */
  connection(signal: AbortSignal): Promise<Connection>
  /** Called when a connection no longer works for new requests. Those that wait for their answers may still get them. */
  drop(connection: Connection): void
  /** The error of a request whose credentials were refused. */
  unauthorized(): McpAuthError
}
