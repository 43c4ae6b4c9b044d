/** The schemas of a server: what may be wrong with one, and how it checks a value. */

import { messageOf, type ToolSchema } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { StandardSchemaV1 } from '@modelcontextprotocol/client'
import { type JsonObject, orderedJson } from './definition.ts'
import { shownSchema } from './schema-of.ts'
import type { Sdk } from './sdk.ts'

/** The limits of a schema. */
export interface SchemaLimits {
  readonly schemaBytes: number
  readonly schemaDepth: number
}

/** The schema as {@link orderedJson}, or why it is not used. Does not recurse deeper than the limit. */
export function readSchema(schema: JsonObject, limits: SchemaLimits): { readonly json: string } | string {
  const { schemaBytes, schemaDepth } = limits
  if (isDeeper(schema, schemaDepth)) return `its schema is nested deeper than ${schemaDepth} levels`
  const json = orderedJson(schema)
  const bytes = json.length * BYTES_OF_CHARACTER > schemaBytes ? Buffer.byteLength(json) : 0
  if (bytes > schemaBytes) return `its schema has ${bytes} bytes, more than ${schemaBytes}`
  const remote = json.includes('"$ref"') ? remoteReference(schema) : undefined
  return remote === undefined ? { json } : `its schema refers to another document: ${remote.slice(0, 200)}`
}

/** A character has at most this many. Only the bytes of long texts are counted, because that takes time. */
const BYTES_OF_CHARACTER = 3

/** A copy that nobody can change: a server in this process may still have the original. */
export function frozenCopy<Value>(value: Value): Value {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as Value
  if (!isRecord(value)) return value
  const copy: Record<string, unknown> = { ...value }
  for (const key of Object.keys(copy)) copy[key] = frozenCopy(copy[key])
  return Object.freeze(copy) as Value
}

function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true
  for (const one of Object.values(value)) {
    if (typeof one === 'object' && one !== null && isDeeper(one, levels - 1)) return true
  }
  return false
}

function remoteReference(value: unknown): string | undefined {
  if (Array.isArray(value)) return firstOf(value)
  if (!isRecord(value)) return undefined
  const { $ref } = value
  if (typeof $ref === 'string' && !$ref.startsWith('#')) return $ref
  return firstOf(Object.values(value))
}

function firstOf(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const found = remoteReference(value)
    if (found !== undefined) return found
  }
  return undefined
}

/** The members of a schema whose own members are schemas by name. */
const BY_NAME = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])

/** The members of a schema that are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/**
 * The schema without regular expressions, because one can block the event loop for as long as it likes. The server checks the input again, and the
 * model sees the whole schema.
 */
export function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns)
  if (!isRecord(schema)) return schema
  const kept = Object.entries(schema).filter(([key]) => !isPattern(key, schema))
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (DATA.has(key)) return [key, value]
      if (!BY_NAME.has(key) || !isRecord(value)) return [key, withoutPatterns(value)]
      return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutPatterns(one)]))]
    }),
  )
}

/** `additionalProperties` is about the names that no pattern next to it allows, and `unevaluatedProperties` about those that none inside allows, either. */
function isPattern(key: string, schema: JsonObject): boolean {
  if (['pattern', 'patternProperties', 'unevaluatedProperties'].includes(key)) return true
  return key === 'additionalProperties' && 'patternProperties' in schema
}

/**
 * A schema as core uses it, without its {@link withoutPatterns patterns}. It is compiled with the first value, and its functions
 * are made when they are read: a server may list more tools than a run ever calls.
 */
export class LazySchema implements ToolSchema<JsonObject> {
  readonly #schema: JsonObject
  readonly #server: string
  readonly #sdk: Sdk
  #compiled: ToolSchema | undefined

  constructor(schema: JsonObject, server: string, sdk: Sdk) {
    this.#schema = schema
    this.#server = server
    this.#sdk = sdk
  }

  get '~standard'(): ToolSchema<JsonObject>['~standard'] {
    return shownSchema(this.#schema, (value) => this.#validate(value))['~standard']
  }

  async #validate(value: unknown): Promise<StandardSchemaV1.Result<JsonObject>> {
    try {
      this.#compiled ??= this.#sdk.fromJsonSchema(withoutPatterns(this.#schema) as JsonObject)
      const checked = await this.#compiled['~standard'].validate(value)
      return checked.issues ? checked : { value: checked.value as JsonObject }
    } catch (error) {
      // A schema may be wrong, or refer to itself without end.
      throw new Error(`${this.#server}: a schema of its tool cannot be used: ${messageOf(error).slice(0, 200)}`)
    }
  }
}
