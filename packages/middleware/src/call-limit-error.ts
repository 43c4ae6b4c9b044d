/** The error of `callLimits()`. */

import { AgentError } from '@meanwhile/core'

/** Which limit of `callLimits` was reached. */
export type CallLimit = 'modelCalls' | 'toolCalls' | 'perTool' | 'perResponse' | 'tokens'

/** A run reached a limit. */
export class CallLimitError extends AgentError {
  static override readonly brand: string = 'CallLimitError'
  /** Which limit. */
  readonly limit: CallLimit
  /** The value of the limit. */
  readonly max: number
  /** The tool whose limit was reached; only for `perTool`. */
  declare readonly tool?: string

  constructor(limit: CallLimit, max: number, tool?: string) {
    super(limitText(limit, max, tool))
    this.limit = limit
    this.max = max
    if (tool !== undefined) this.tool = tool
  }
}

/** What is said about a limit that is reached. */
export function limitText(limit: CallLimit, max: number, tool: string | undefined): string {
  const what = {
    modelCalls: 'model calls',
    toolCalls: 'tool calls',
    perTool: `calls of ${tool}`,
    perResponse: 'calls in one response',
    tokens: 'tokens',
  }
  return `the limit of ${what[limit]} is reached (${max})`
}
