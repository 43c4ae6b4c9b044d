/** A tool in the list of a server, with what is computed once for all runs. */

import type { Tool, ToolSchema } from '@meanwhile/core'
import type { ToolAnnotations } from '@modelcontextprotocol/client'
import { hashOf, type JsonObject, type McpDefinition } from './definition.ts'
import { LazySchema } from './json-schemas.ts'
import type { Sdk } from './sdk.ts'

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

export class ListedTool {
  readonly server: string
  readonly definition: McpDefinition
  readonly input: ToolSchema<JsonObject>
  /** Checks the `structuredContent` of results. */
  readonly output: ToolSchema<JsonObject> | undefined
  /** The tool of the last run. */
  last: Tool | undefined
  #info: McpToolInfo | undefined

  constructor(definition: McpDefinition, server: string, sdk: Sdk) {
    const { inputSchema, outputSchema } = definition
    this.server = server
    this.definition = definition
    this.input = new LazySchema(inputSchema, sdk)
    this.output = outputSchema && new LazySchema(outputSchema, sdk)
  }

  /** The server's name of the tool. */
  get name(): string {
    return this.definition.name
  }

  /** Made when somebody needs it: a server may have very many tools, and a hash takes time. */
  get info(): McpToolInfo {
    const { server, definition } = this
    const { name, annotations } = definition
    this.#info ??= Object.freeze({ server, name, annotations, hash: hashOf(definition) })
    return this.#info
  }
}
