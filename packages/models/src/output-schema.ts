/** Converts the schema of an output to the subset of JSON Schema that wires can enforce token by token. */

import type { OutputFormat } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

export type JsonSchema = OutputFormat['schema']

interface StrictSchema {
  readonly schema: { [key: string]: unknown }
  /** The number of optional properties. */
  readonly optional: number
  /** Whether it contains references to its own parts, which may be recursive. */
  readonly refers: boolean
}

/**
 * Closes every object and moves bounds of values into descriptions; core checks them anyway. `undefined` for a schema
 * that cannot be converted: objects with arbitrary keys, values of any type.
 */
export function strictSchema(schema: JsonSchema): StrictSchema | undefined {
  const found = { optional: 0, refers: false }
  const strict = strictly(schema, found)
  return strict && { schema: strict, ...found }
}

/**
 * The format of OpenAI's wires. A schema that cannot be strict is sent unchanged, and the model is not forced to match
 * it.
 */
export function jsonSchemaFormat({ name, schema }: OutputFormat): JsonSchemaFormat {
  const found = strictSchema(schema)
  return found?.optional === 0 ? { name, schema: found.schema, strict: true } : { name, schema, strict: false }
}

interface JsonSchemaFormat {
  readonly name: string
  readonly schema: { [key: string]: unknown }
  readonly strict: boolean
}

interface Found {
  optional: number
  refers: boolean
}

type Strict = { [key: string]: unknown }

const SHAPES = ['type', 'enum', 'const', 'anyOf']

/** Keywords that limit a value without changing its shape. */
const BOUNDS =
  /^(minimum|maximum|exclusiveM(in|ax)imum|multipleOf|(min|max)(Length|Items)|uniqueItems|pattern|format|default|examples|content(Encoding|MediaType))$/

function strictly(schema: unknown, found: Found): Strict | undefined {
  if (!isRecord(schema)) return undefined
  const { $schema: _, $defs, ...members } = schema
  const defs = $defs === undefined ? {} : strictMembers($defs, found)
  if (!defs) return undefined
  const strict: Strict = $defs === undefined ? {} : { $defs: defs }
  if (members.$ref !== undefined) {
    found.refers = true
    return { ...strict, $ref: members.$ref }
  }
  const bounds: string[] = []
  for (const [key, value] of Object.entries(members)) {
    if (BOUNDS.test(key)) bounds.push(`${key}: ${JSON.stringify(value)}`)
    else {
      const member = strictMember(key, value, found)
      if (!member) return undefined
      Object.assign(strict, member)
    }
  }
  if (!SHAPES.some((key) => key in strict)) return undefined
  if (bounds.length > 0) strict.description = [strict.description, `{${bounds.join(', ')}}`].filter(Boolean).join(' ')
  return [strict.type].flat().includes('object') ? closed(strict, found) : strict
}

/** Converts one keyword; `undefined` for those that the wires do not support. */
function strictMember(key: string, value: unknown, found: Found): Strict | undefined {
  switch (key) {
    case 'type':
    case 'enum':
    case 'const':
    case 'required':
    case 'title':
    case 'description':
      return { [key]: value }
    case 'additionalProperties':
      return value === false ? {} : undefined
    case 'items': {
      const items = strictly(value, found)
      return items && { items }
    }
    case 'properties': {
      const properties = strictMembers(value, found)
      return properties && { properties }
    }
    case 'anyOf':
    case 'oneOf': {
      const anyOf = Array.isArray(value) ? value.map((one) => strictly(one, found)) : [undefined]
      return anyOf.includes(undefined) ? undefined : { anyOf }
    }
    default:
      return undefined
  }
}

function strictMembers(members: unknown, found: Found): Strict | undefined {
  if (!isRecord(members)) return undefined
  const strict = Object.entries(members).map(([name, schema]) => [name, strictly(schema, found)] as const)
  return strict.some(([, schema]) => !schema) ? undefined : Object.fromEntries(strict)
}

function closed(object: Strict, found: Found): Strict | undefined {
  const { properties, required } = object
  if (!isRecord(properties)) return undefined
  const needed = new Set(Array.isArray(required) ? required : [])
  found.optional += Object.keys(properties).filter((name) => !needed.has(name)).length
  return { ...object, additionalProperties: false }
}
