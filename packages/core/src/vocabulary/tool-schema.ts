/** The schemas that users give: each checks a value, and says as JSON Schema what it accepts. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ConfigError, messageOf } from './errors.ts'
import { freeze } from './history.ts'
import type { Json } from './message.ts'

/** A Standard Schema that also gives its JSON Schema. Zod 4 schemas are both, and so is what MCP's `fromJsonSchema` gives. */
export interface ToolSchema<Input = unknown> {
  readonly '~standard': StandardSchemaV1.Props<unknown, Input> & GivesJsonSchema
}

/** Of the Standard JSON Schema what is asked for: some declare targets of their own. */
interface GivesJsonSchema {
  readonly jsonSchema: {
    readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    readonly output?: unknown
  }
}

/** JSON Schema, draft 2020-12. */
export interface JsonSchema {
  readonly [key: string]: Json
}

/** By schema, because tools may be made anew for each request over schemas that stay. */
const jsonSchemas = new WeakMap<ToolSchema, JsonSchema>()

/** What the schema accepts, as JSON Schema: a frozen copy, made once. Throws {@link ConfigError}, naming the option, if it does not say. */
export function jsonSchemaOf(schema: ToolSchema, option: string, what = ''): JsonSchema {
  let jsonSchema = jsonSchemas.get(schema)
  if (jsonSchema) return jsonSchema
  const problem = `${what}must be a Standard Schema that gives its JSON Schema, as zod 4 schemas do`
  if (!schema?.['~standard']?.jsonSchema) throw new ConfigError(option, problem)
  try {
    jsonSchema = freeze(
      structuredClone(schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' })) as JsonSchema,
    )
  } catch (error) {
    throw new ConfigError(option, `${problem}: ${messageOf(error)}`)
  }
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}

/** As {@link jsonSchemaOf}; undefined if the schema does not say. */
export function jsonSchemaIn(schema: StandardSchemaV1): JsonSchema | undefined {
  try {
    return jsonSchemaOf(schema as ToolSchema, '')
  } catch {
    return undefined
  }
}
