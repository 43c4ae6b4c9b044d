/** The schemas of a server: what may be wrong with one, and how it checks a value. */

import { messageOf, type ToolSchema } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { JsonObject } from './definition.ts'
import { shownSchema } from './schema-of.ts'
import type { Sdk } from './sdk.ts'

/** The limits of a schema. */
export interface SchemaLimits {
  readonly schemaBytes: number
  readonly schemaDepth: number
}

/** Why a schema is not used; `undefined` if nothing is wrong. Does not recurse deeper than the limit. */
export function schemaProblem(schema: JsonObject, { schemaBytes, schemaDepth }: SchemaLimits): string | undefined {
  if (isDeeper(schema, schemaDepth)) return `its schema is nested deeper than ${schemaDepth} levels`
  const text = JSON.stringify(schema)
  const bytes = Buffer.byteLength(text)
  if (bytes > schemaBytes) return `its schema has ${bytes} bytes, more than ${schemaBytes}`
  const remote = text.includes('"$ref"') ? remoteReference(schema) : undefined
  return remote && `its schema refers to another document: ${remote.slice(0, 200)}`
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
 * The schema as core uses it, without its {@link withoutPatterns patterns}. It is compiled with the first value: a server may list more tools than a
 * run ever calls.
 */
export function lazySchema(schema: JsonObject, server: string, { fromJsonSchema }: Sdk): ToolSchema<JsonObject> {
  let compiled: ToolSchema | undefined
  return shownSchema(schema, async (value) => {
    try {
      compiled ??= fromJsonSchema(withoutPatterns(schema) as JsonObject)
      const checked = await compiled['~standard'].validate(value)
      return checked.issues ? checked : { value: checked.value as JsonObject }
    } catch (error) {
      // A schema may be wrong, or refer to itself without end.
      throw new Error(`${server}: a schema of its tool cannot be used: ${messageOf(error).slice(0, 200)}`)
    }
  })
}
