/** The schema of a tool's input: what may be wrong with it, and how it checks an input. */

import type { ToolSchema } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { JsonObject } from './definition.ts'
import type { Sdk } from './sdk.ts'

/** The limits of a schema. */
export interface SchemaLimits {
  readonly schemaBytes: number
  readonly schemaDepth: number
}

/** Why a schema is not used; `undefined` if nothing is wrong. Does not recurse deeper than the limit. */
export function schemaProblem(schema: JsonObject, { schemaBytes, schemaDepth }: SchemaLimits): string | undefined {
  if (isDeeper(schema, schemaDepth)) return `its schema is nested deeper than ${schemaDepth} levels`
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > schemaBytes) return `its schema has ${bytes} bytes, more than ${schemaBytes}`
  const remote = remoteReference(schema)
  return remote && `its schema refers to another document: ${remote.slice(0, 200)}`
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1))
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

/** `additionalProperties` is about the names that no pattern allows. */
function isPattern(key: string, schema: JsonObject): boolean {
  if (key === 'pattern' || key === 'patternProperties') return true
  return 'patternProperties' in schema && (key === 'additionalProperties' || key === 'unevaluatedProperties')
}

const compiledSchemas = new WeakMap<JsonObject, ToolSchema>()

/** The schema as a function that checks values, without its {@link withoutPatterns patterns}. Compiled once: all runs have the same definitions. */
export function compiled(schema: JsonObject, sdk: Sdk): ToolSchema {
  const known = compiledSchemas.get(schema) ?? sdk.fromJsonSchema(withoutPatterns(schema) as JsonObject)
  compiledSchemas.set(schema, known)
  return known
}

/** The schema as core uses it. It is compiled with the first input: a server may list more tools than a run ever calls. */
export function inputSchema(schema: JsonObject, sdk: Sdk): ToolSchema<Record<string, unknown>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'meanwhile',
      async validate(value) {
        const checked = await compiled(schema, sdk)['~standard'].validate(value)
        return checked.issues ? checked : { value: checked.value as Record<string, unknown> }
      },
      jsonSchema: { input: () => ({ ...schema }) },
    },
  }
}
