/** A tool of a server as a tool of an agent. */

import type { ContentPart, Progress, Tool, ToolContext, ToolSchema } from '@meanwhile/core'
import { branded, unheard } from '@meanwhile/core/calls'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/client'
import type { CallRequest } from './call.ts'
import { partsOf } from './content.ts'
import type { JsonObject, McpDefinition } from './definition.ts'
import type { ListedTool, McpToolInfo } from './listed-tool.ts'
import { type FullLimits, fullLimits, type Shared } from './options.ts'
import { ProgressTap } from './progress.ts'
import { resourceRequest } from './resources.ts'
import { ServerCall } from './server-call.ts'
import type { Way } from './way.ts'

/** Marks a tool of a server. A copy of the tool has the mark, too. */
const LISTED: unique symbol = Symbol.for('@meanwhile/mcp/listed-tool')

/** What is known of a tool that comes from a server; `undefined` for any other tool. */
export function mcpOf(tool: Tool & { readonly [LISTED]?: ListedTool }): McpToolInfo | undefined {
  return tool[LISTED]?.info
}

/** What the tools of a server have in common. */
export interface Common {
  readonly way: Way
  readonly options: Shared
  readonly limits: FullLimits
  readonly toContent: (result: CallToolResult) => readonly ContentPart[]
}

export function commonOf(way: Way, options: Shared): Common {
  const limits = fullLimits(options.limits)
  return { way, options, limits, toContent: (result) => partsOf(result, limits) }
}

/** A tool of a server as a tool of an agent, with its name and effect in the run. Nobody can change it, because runs share it. */
export function mcpTool(listed: ListedTool, name: string, effect: NonNullable<Tool['effect']>, common: Common): Tool {
  return new McpTool(listed, name, effect, common) as Tool
}

/** Its members are its own, so that a copy has them, too. */
class McpTool implements Tool<JsonObject, CallToolResult> {
  readonly name: string
  readonly description: string
  readonly input: ToolSchema<JsonObject>
  readonly effect: NonNullable<Tool['effect']>
  declare readonly timeout?: number
  readonly execute: (input: JsonObject, context: ToolContext) => AsyncGenerator<Progress, CallToolResult>
  readonly toContent: Common['toContent']
  readonly [LISTED]: ListedTool

  constructor(listed: ListedTool, name: string, effect: NonNullable<Tool['effect']>, common: Common) {
    const { definition, input } = listed
    const { timeout } = common.options
    this.name = name
    this.description = definition.description ?? definition.name
    this.input = input
    this.effect = effect
    this.execute = (input, context) => called(this, input, context, common)
    this.toContent = common.toContent
    this[LISTED] = listed
    if (timeout !== undefined) this.timeout = timeout
    Object.freeze(this)
  }
}
branded('tool', McpTool.prototype)

async function* called(
  tool: McpTool,
  input: JsonObject,
  context: ToolContext,
  { way, options, limits }: Common,
): AsyncGenerator<Progress, CallToolResult> {
  const listed = tool[LISTED]
  const tap = new ProgressTap(limits.progress)
  const request = resourceRequest(listed.definition) ?? toolRequest(listed.definition)
  const call = new ServerCall({ way, listed, request, tool, input, context, options, limits, tap })
  // The reader of the progress may leave first.
  const done = unheard(call.result().finally(() => tap.end()))
  yield* tap.read()
  return await done
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
