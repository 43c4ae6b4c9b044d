/** A tool of a server as a tool of an agent. */

import { type Effect, type Tool, tool } from '@meanwhile/core'
import { unheard } from '@meanwhile/core/calls'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/client'
import type { CallRequest } from './call.ts'
import { partsOf } from './content.ts'
import type { JsonObject, McpDefinition } from './definition.ts'
import type { ListedTool } from './listed-tool.ts'
import type { FullLimits, Shared } from './options.ts'
import { ProgressTap } from './progress.ts'
import { resourceRequest } from './resources.ts'
import { ServerCall } from './server-call.ts'
import type { Way } from './way.ts'

/** What is known of a tool that comes from a server. */
export interface McpToolInfo {
  /** The name of the server, as in the options. */
  readonly server: string
  /** The server's name of the tool. */
  readonly name: string
  /** Hints of the server. They are only as true as the server is honest. */
  readonly annotations: ToolAnnotations
  /** The hash of the definition, for `pin`. */
  readonly hash: string
}

/** Marks a tool of a server. A copy of the tool has the mark, too. */
const INFO: unique symbol = Symbol.for('@meanwhile/mcp/tool')

/** What is known of a tool that comes from a server; `undefined` for any other tool. */
export function mcpOf(tool: Tool & { readonly [INFO]?: McpToolInfo }): McpToolInfo | undefined {
  return tool[INFO]
}

/** What a tool is made of. */
export interface ToolOf {
  readonly way: Way
  readonly listed: ListedTool
  /** Its name in the run. */
  readonly name: string
  readonly effect: NonNullable<Tool['effect']>
  readonly options: Shared
  readonly limits: FullLimits
}

export function mcpTool({ way, listed, name, effect, options, limits }: ToolOf): Tool {
  const { definition, hash, input } = listed
  const made = tool({
    name,
    description: definition.description ?? definition.name,
    input,
    effect: effect as Effect,
    ...(options.timeout !== undefined && { timeout: options.timeout }),
    async *execute(input: JsonObject, context) {
      const tap = new ProgressTap(limits.progress)
      const request = resourceRequest(definition) ?? toolRequest(definition)
      const call = new ServerCall({ way, listed, request, tool: made, input, context, options, limits, tap })
      // The reader of the progress may leave first.
      const done = unheard(call.result().finally(() => tap.end()))
      yield* tap.read()
      return await done
    },
    toContent: (result: CallToolResult) => partsOf(result, limits),
  }) as Tool
  const { annotations } = definition
  const info: McpToolInfo = { server: way.server, name: definition.name, annotations, hash }
  return Object.freeze(Object.assign(made, { [INFO]: info }))
}

function toolRequest({ outputSchema: _, ...definition }: McpDefinition): CallRequest {
  const { name } = definition
  return {
    method: 'tools/call',
    send: ({ client }, input, more, options) =>
      client.callTool(
        { name, arguments: input, ...more },
        // The result is checked without the patterns of its schema, which the client would run.
        {
          ...options,
          allowInputRequired: true,
          toolDefinition: definition as McpDefinition & { annotations: ToolAnnotations },
        },
      ),
  }
}
