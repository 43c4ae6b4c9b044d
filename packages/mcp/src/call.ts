/** What one call of a tool of a server consists of. */

import { type Tool, type ToolContext, ToolError } from '@meanwhile/core'
import type { CallToolResult, InputRequiredResult, InputResponses, RequestOptions } from '@modelcontextprotocol/client'
import type { Connection } from './connection.ts'
import type { JsonObject } from './definition.ts'
import type { McpError } from './errors.ts'
import type { ListedTool } from './listed-tool.ts'
import type { FullLimits, Shared } from './options.ts'
import type { ProgressTap } from './progress.ts'
import type { Way } from './way.ts'

export interface Call {
  readonly way: Way
  readonly listed: ListedTool
  readonly request: CallRequest
  readonly tool: Tool
  readonly input: JsonObject
  readonly context: ToolContext
  readonly options: Shared
  readonly limits: FullLimits
  readonly tap: ProgressTap
}

/** What the server answers: the result, or what it wants to know first. */
export type Answer = CallToolResult | InputRequiredResult

/** The request that a call is. */
export interface CallRequest {
  /** Its method in the protocol. */
  readonly method: string
  /** Sends it with the input of the call. */
  send(to: Connected, input: JsonObject, more: More, options: RequestOptions): Promise<Answer>
}

/** The part of a connection that sends a request. */
export type Connected = Pick<Connection, 'client' | 'sdk'>

/** What else is in the parameters of a request. */
export interface More extends Partial<Reply> {
  readonly _meta: Record<string, unknown>
}

/** What goes back to the server with the answer to its question. */
export interface Reply {
  readonly inputResponses: InputResponses
  readonly requestState?: string
}

/** What the model reads about a call without a result. */
export function callError({ tool, way }: Call, problem: string, cause?: McpError): ToolError {
  return new ToolError(tool.name, cause?.message ?? `${way.server}: ${problem.slice(0, MOST_TEXT)}`, { cause })
}

const MOST_TEXT = 100_000
