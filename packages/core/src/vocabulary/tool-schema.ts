/** Defines the schemas that users pass: each checks a value and has a JSON Schema. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { behind } from './copies.ts'
import { ConfigError, messageOf } from './errors.ts'
import { freeze } from './history.ts'
import { isRecord } from './json.ts'
import type { Json } from './message.ts'

/** A Standard Schema with a JSON Schema. Schemas of Zod 4 and of MCP's `fromJsonSchema` are such schemas. */
export interface ToolSchema<Input = unknown> {
  /** The validation of Standard Schema, and its JSON Schema. */
  readonly '~standard': StandardSchemaV1.Props<unknown, Input> & GivesJsonSchema
}

/** The part of Standard JSON Schema that core uses. Some libraries declare their own targets. */
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

/** Cached by schema, because tools may be created for each request with the same schemas. */
const jsonSchemas = new WeakMap<ToolSchema, JsonSchema>()

/** Returns the JSON Schema, made once and frozen. Throws {@link ConfigError} with the name of the option if the schema has none. */
export function jsonSchemaOf(schema: ToolSchema, option: string, tool?: string): JsonSchema {
  // Behind a schema is what returns its JSON Schema, if that is frozen with everything inside: a package may have very many.
  let jsonSchema = behind<(one: ToolSchema) => JsonSchema>('schema', schema)?.(schema) ?? jsonSchemas.get(schema)
  if (jsonSchema) return jsonSchema
  const given = schema?.['~standard']
  try {
    if (!given?.jsonSchema) throw new TypeError(`use ${INSTEAD[given?.vendor] ?? 'zod 4, or z.fromJSONSchema(schema)'}`)
    jsonSchema = freeze(structuredClone(given.jsonSchema.input({ target: 'draft-2020-12' }))) as JsonSchema
  } catch (error) {
    const why = messageOf(error)
    const hint = given?.vendor === 'zod' && /^Date\b/.test(why) ? '; write z.iso.datetime()' : ''
    const what = tool === undefined ? '' : `the input of ${tool} `
    throw new ConfigError(option, `${what}must be a Standard Schema with a JSON Schema: ${why}${hint}`)
  }
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}

/** What to use instead, by the library of a schema that has no JSON Schema. */
const INSTEAD: Readonly<Record<string, string>> = {
  zod: 'zod 4.2 or newer',
  valibot: 'toStandardJsonSchema(schema) of @valibot/to-json-schema',
}

/** Like {@link jsonSchemaOf}; `undefined` if the schema has no JSON Schema. */
export function jsonSchemaIn(schema: StandardSchemaV1): JsonSchema | undefined {
  try {
    return jsonSchemaOf(schema as ToolSchema, '')
  } catch {
    return undefined
  }
}

/** The schema of an object with this member, which must be a non-empty text: for core's own tools, so that core needs no schema library. */
export function textInput<Member extends string>(
  member: Member,
  description: string,
): ToolSchema<Readonly<Record<Member, string>>> {
  type Input = Readonly<Record<Member, string>>
  const validate = (value: unknown): StandardSchemaV1.Result<Input> => {
    const text = isRecord(value) ? value[member] : undefined
    return typeof text === 'string' && text !== ''
      ? { value: { [member]: text } as Input }
      : { issues: [{ message: 'must be a non-empty text', path: [member] }] }
  }
  const describe = () => ({
    type: 'object',
    properties: { [member]: { type: 'string', description } },
    required: [member],
    additionalProperties: false,
  })
  return {
    '~standard': { version: 1, vendor: 'meanwhile', validate, jsonSchema: { input: describe, output: describe } },
  }
}
