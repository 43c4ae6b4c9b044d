/** The errors of this package. Every message begins with the name of the server. */

import { AgentError, OutcomeUnknownError } from '@meanwhile/core'
import type { Drift } from './drift.ts'

/** The base class of the errors that end a run. In a call, such an error is the `cause` of the `ToolError` that the model reads. */
export class McpError extends AgentError {
  static override readonly brand: string = 'McpError'
  /** The name of the server, as in the options. */
  declare readonly server: string

  constructor(server: string, problem: string, options?: ErrorOptions) {
    super(`${server}: ${problem}`, options)
    this.server = server
  }
}

/** The server cannot be reached, or does not speak the protocol. */
export class McpConnectionError extends McpError {
  static override readonly brand: string = 'McpConnectionError'
  /** The last lines that the process of the server has written to its standard error, at most 20. */
  declare readonly log: readonly string[]

  constructor(server: string, problem: string, log: readonly string[] = []) {
    super(server, problem)
    // Not enumerable: it may contain secrets, and a program that prints the error did not ask for it.
    Object.defineProperty(this, 'log', { value: log })
  }
}

/** The server wants other credentials. `redirect`: the user must authorize first, at the address that the `authProvider` has received. */
export class McpAuthError extends McpError {
  static override readonly brand: string = 'McpAuthError'
  /** Whether the user must open an address, or the options need other credentials. */
  declare readonly action: 'redirect' | 'configure'

  constructor(server: string, action: McpAuthError['action'], options?: ErrorOptions) {
    const problem =
      action === 'redirect'
        ? 'it must be authorized first: the authProvider has received the address'
        : 'it refuses the credentials'
    super(server, problem, options)
    this.action = action
  }
}

/** A pinned tool of the server has another definition. Nothing has run. */
export class McpDriftError extends McpError {
  static override readonly brand: string = 'McpDriftError'
  /** The tools with another definition. */
  declare readonly changes: readonly Drift[]

  constructor(server: string, changes: readonly Drift[]) {
    super(server, `${changes.map(({ name }) => name).join(', ')}: not the pinned definition`)
    this.changes = changes
  }
}

/** The server sent more than the `limits` allow. */
export class McpLimitError extends McpError {
  static override readonly brand: string = 'McpLimitError'
}

/** The answer of a call was lost: the call may have happened. It was not made again. */
export class McpUnknownError extends OutcomeUnknownError {
  static override readonly brand: string = 'McpUnknownError'
  /** The name of the server, as in the options. */
  declare readonly server: string

  constructor(server: string, tool: string, options?: ErrorOptions) {
    super(tool, 'the connection was lost before its answer', options)
    this.message = `${server}: ${this.message}`
    this.server = server
  }
}
