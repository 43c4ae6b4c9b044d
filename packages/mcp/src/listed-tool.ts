/** A tool in the list of a server, with what is computed once for all runs. */

import type { ToolSchema } from '@meanwhile/core'
import { hashOf, type JsonObject, type McpDefinition } from './definition.ts'
import { lazySchema } from './json-schemas.ts'
import type { Sdk } from './sdk.ts'

export interface ListedTool {
  readonly definition: McpDefinition
  /** Identifies the definition. */
  readonly hash: string
  readonly input: ToolSchema<JsonObject>
  /** Checks the `structuredContent` of results. */
  readonly output?: ToolSchema<JsonObject>
}

export function listedTool(definition: McpDefinition, server: string, sdk: Sdk): ListedTool {
  const { inputSchema, outputSchema } = definition
  return {
    definition,
    hash: hashOf(definition),
    input: lazySchema(inputSchema, server, sdk),
    ...(outputSchema && { output: lazySchema(outputSchema, server, sdk) }),
  }
}
