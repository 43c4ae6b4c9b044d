/** A tool in the list of a server, with what is computed once for all runs. */

import type { ToolSchema } from '@meanwhile/core'
import { hashOf, type JsonObject, type McpDefinition } from './definition.ts'
import { LazySchema } from './json-schemas.ts'
import type { Sdk } from './sdk.ts'

export interface ListedTool {
  readonly definition: McpDefinition
  /** Identifies the definition. */
  readonly hash: string
  readonly input: ToolSchema<JsonObject>
  /** Checks the `structuredContent` of results. */
  readonly output?: ToolSchema<JsonObject>
}

/** `inputJson`: its input schema as {@link orderedJson}. */
export function listedTool(definition: McpDefinition, inputJson: string, server: string, sdk: Sdk): ListedTool {
  const { inputSchema, outputSchema } = definition
  return {
    definition,
    hash: hashOf(definition, inputJson),
    input: new LazySchema(inputSchema, server, sdk),
    ...(outputSchema && { output: new LazySchema(outputSchema, server, sdk) }),
  }
}
