/** The schemas of a server: what may be wrong with one, and how it checks a value. */

import type { JsonSchema, ToolSchema } from '@meanwhile/core'
import { branded, isRecord } from '@meanwhile/core/calls'
import type { StandardSchemaV1 } from '@modelcontextprotocol/client'
import { type JsonObject, orderedJson } from './definition.ts'
import { shownSchema } from './schema-of.ts'
import type { Sdk } from './sdk.ts'

/** The limits of a schema. */
export interface SchemaLimits {
  readonly schemaBytes: number
  readonly schemaDepth: number
}

/**
 * The schema so that nobody can change it, or why it is not used. A copy, unless only we have it: a server in this process may still have the
 * original. Does not recurse deeper than the limit.
 */
export function readSchema<Schema extends JsonObject>(
  schema: Schema,
  limits: SchemaLimits,
  isOurs: boolean,
): Schema | string {
  const { schemaBytes, schemaDepth } = limits
  const reading = new SchemaReading(isOurs)
  const copy = reading.frozen(schema, schemaDepth) as Schema
  if (reading.isTooDeep) return `its schema is nested deeper than ${schemaDepth} levels`
  const bytes = reading.mostBytes > schemaBytes ? Buffer.byteLength(orderedJson(copy)) : 0
  if (bytes > schemaBytes) return `its schema has ${bytes} bytes, more than ${schemaBytes}`
  const remote = reading.hasReference ? remoteReference(copy) : undefined
  return remote === undefined ? copy : `its schema refers to another document: ${remote.slice(0, 200)}`
}

/** A character has at most this many as JSON, with what separates the members. */
const BYTES_OF_CHARACTER = 6

/** Freezes a schema or a copy of it, and notes on the way what has to be looked at again. A server may have very many. */
class SchemaReading {
  isTooDeep = false
  hasReference = false
  #characters = 0
  readonly #isOurs: boolean

  constructor(isOurs: boolean) {
    this.#isOurs = isOurs
  }

  /** No less than its bytes as JSON. */
  get mostBytes(): number {
    return this.#characters * BYTES_OF_CHARACTER
  }

  frozen(value: unknown, levels: number): unknown {
    if (typeof value === 'string') this.#characters += value.length + 1
    else if (typeof value !== 'object' || value === null) this.#characters += JSON.stringify(value)?.length ?? 1
    else if (levels === 0) this.isTooDeep = true
    else
      return Object.freeze(
        Array.isArray(value)
          ? this.#listOf(value, levels - 1)
          : this.#recordOf(value as Record<string, unknown>, levels - 1),
      )
    return value
  }

  #listOf(list: unknown[], levels: number): readonly unknown[] {
    this.#characters++
    const own = this.#isOurs ? list : [...list]
    for (const [index, one] of list.entries()) own[index] = this.frozen(one, levels)
    return own
  }

  #recordOf(value: Record<string, unknown>, levels: number): object {
    this.#characters++
    const own = this.#isOurs ? value : { ...value }
    for (const key of Object.keys(own)) {
      if (key === '$ref') this.hasReference = true
      this.#characters += key.length + 1
      own[key] = this.frozen(own[key], levels)
    }
    return own
  }
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
 * A schema as core uses it, which shows it as it is, and checks values without its {@link withoutPatterns patterns}. It is compiled with the first value, and its functions
 * are made when they are read: a server may list more tools than a run ever calls. One that cannot be compiled, such as one in an unknown dialect,
 * accepts everything: the server checks its input itself.
 */
export class LazySchema implements ToolSchema<JsonObject> {
  /** Frozen with everything inside. */
  readonly shown: JsonSchema
  readonly #sdk: Sdk
  #compiled: ToolSchema | undefined

  constructor(schema: JsonObject, sdk: Sdk) {
    this.shown = schema as JsonSchema
    this.#sdk = sdk
  }

  get '~standard'(): ToolSchema<JsonObject>['~standard'] {
    return shownSchema(this.shown, (value) => this.#validate(value))['~standard']
  }

  async #validate(value: unknown): Promise<StandardSchemaV1.Result<JsonObject>> {
    try {
      this.#compiled ??= this.#sdk.fromJsonSchema(withoutPatterns(this.shown) as JsonObject)
      const checked = await this.#compiled['~standard'].validate(value)
      return checked.issues ? checked : { value: checked.value as JsonObject }
    } catch (error) {
      // The stack is too small for this value, or for a schema that refers to itself without end.
      if (error instanceof RangeError) return { issues: [{ message: 'it is nested too deeply to be checked' }] }
      this.#compiled = ANYTHING
      return { value: value as JsonObject }
    }
  }
}

const ANYTHING = shownSchema({}, (value) => ({ value }))

// Core reads the JSON Schema as it is.
branded('schema', LazySchema.prototype, (schema: LazySchema) => schema.shown)
