/** The definition of a tool, as its server lists it. */

import { hash } from 'node:crypto'
import { isRecord } from '@meanwhile/core/calls'
import type { ToolAnnotations } from '@modelcontextprotocol/client'

/** What a server declares about one of its tools. */
export interface McpDefinition {
  /** The server's name of the tool. */
  readonly name: string
  /** What the model reads about it. */
  readonly description?: string
  /** The JSON Schema of its input. */
  readonly inputSchema: JsonObject & { readonly type: 'object' }
  /** The JSON Schema of `structuredContent`. */
  readonly outputSchema?: JsonObject
  /** Hints of the server. They are only as true as the server is honest. */
  readonly annotations: ToolAnnotations
}

/** A JSON object of unknown members. */
export interface JsonObject {
  readonly [key: string]: unknown
}

/** The definition, or why it cannot be a tool. */
export function readDefinition(raw: unknown): McpDefinition | string {
  if (!isRecord(raw) || typeof raw.name !== 'string' || raw.name === '') return 'it has no name'
  const { name, description, outputSchema, annotations, execution } = raw
  const inputSchema = objectSchema(raw.inputSchema)
  if (!inputSchema) return 'its input is not the schema of an object'
  if (isRecord(execution) && execution.taskSupport === 'required') return 'it can only be called as a task'
  const hints = isRecord(annotations) ? annotationsIn(annotations) : NONE
  const definition =
    typeof description === 'string'
      ? { name, description, inputSchema, annotations: hints }
      : { name, inputSchema, annotations: hints }
  return isRecord(outputSchema) ? { ...definition, outputSchema } : definition
}

/** Servers leave out the type, which can only be this one, and the whole schema of a tool without parameters. */
function objectSchema(given: unknown): McpDefinition['inputSchema'] | undefined {
  const schema = given ?? {}
  if (!isRecord(schema)) return undefined
  const { type = null } = schema
  if (type === null || type === 'object' || (Array.isArray(type) && type.includes('object')))
    return type === 'object' ? (schema as McpDefinition['inputSchema']) : { ...schema, type: 'object' }
  return undefined
}

const NONE: ToolAnnotations = Object.freeze({})

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/** The hints of the protocol; a server may send anything else. */
function annotationsIn(given: JsonObject): ToolAnnotations {
  const hints: { -readonly [Hint in keyof ToolAnnotations]: ToolAnnotations[Hint] } = {}
  if (typeof given.title === 'string') hints.title = given.title
  for (const hint of HINTS) {
    const value = given[hint]
    if (typeof value === 'boolean') hints[hint] = value
  }
  return Object.freeze(hints)
}

/** Identifies what a model and a user rely on: name, description, input schema and annotations. The order of members does not matter. */
export function hashOf({ name, description, inputSchema, annotations }: McpDefinition): string {
  return jsonHash([name, description, inputSchema, annotations])
}

/** The hash of a value that is JSON. */
export function jsonHash(value: unknown): string {
  return hash('sha256', orderedJson(value))
}

/** The value as JSON, with the members of its objects in the order of their names. A server may have very many tools: no sorted copy is made. */
export function orderedJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const one of value) text += `${text && ','}${orderedJson(one)}`
    return `[${text}]`
  }
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  for (const key of Object.keys(value).sort()) text += `${text && ','}${quoted(key)}:${orderedJson(value[key])}`
  return `{${text}}`
}

/** Most texts have no character that JSON escapes. To look for one takes less time than `JSON.stringify`. */
function quoted(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}
