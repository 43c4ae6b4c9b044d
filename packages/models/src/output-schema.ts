/** Converts the schema of an output to the subset of JSON Schema that wires can enforce token by token. */

import type { OutputFormat } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

export type JsonSchema = OutputFormat['schema']

interface StrictSchema extends Found {
  readonly schema: { [key: string]: unknown }
}

/**
 * Closes every object and moves bounds of values into descriptions; core checks them anyway. `undefined` for a schema
 * that cannot be converted: objects with arbitrary keys, values of any type.
 */
export function strictSchema(schema: JsonSchema): StrictSchema | undefined {
  const found: Found = {
    optional: 0,
    refers: false,
    unions: 0,
    properties: 0,
    values: 0,
    longest: 0,
    characters: 0,
    levels: 0,
  }
  const strict = strictly(schema, found, 0)
  return strict && { schema: strict, ...found }
}

/** Whether Anthropic's API enforces the schema. It rejects recursion, and counts what makes its grammar large. */
export function isEnforceable(schema: JsonSchema): boolean {
  const found = strictSchema(schema)
  return found !== undefined && !found.refers && found.optional <= 24 && found.unions <= 16
}

/**
 * The format of OpenAI's wires. A schema that cannot be strict, or is too large for that, is sent unchanged, and the
 * model is not forced to match it.
 */
export function jsonSchemaFormat({ name, schema }: OutputFormat): JsonSchemaFormat {
  const found = strictSchema(schema)
  return found && isStrict(found) ? { name, schema: found.schema, strict: true } : { name, schema, strict: false }
}

/** OpenAI's limits of a strict schema. */
function isStrict(found: StrictSchema): boolean {
  const { schema, optional, levels, properties, values, longest, characters } = found
  if (schema.type !== 'object' || 'anyOf' in schema || optional > 0) return false
  return levels <= 10 && properties <= 5_000 && values <= 1_000 && longest <= 15_000 && characters <= 120_000
}

interface JsonSchemaFormat {
  readonly name: string
  readonly schema: { [key: string]: unknown }
  readonly strict: boolean
}

interface Found {
  /** The number of optional properties. */
  optional: number
  /** Whether it contains references to its own parts, which may be recursive. */
  refers: boolean
  /** The number of values with alternatives: `anyOf`, or a list of types. */
  unions: number
  /** The number of properties of all objects. */
  properties: number
  /** The number of values of all enums, and of constants. */
  values: number
  /** The length of the longest enum of more than 250 values. */
  longest: number
  /** The length of all names of properties and definitions, and of all values of enums and constants. */
  characters: number
  /** How deep objects and lists are nested. */
  levels: number
}

type Strict = { [key: string]: unknown }

const SHAPES = ['type', 'enum', 'const', 'anyOf']

/** Keywords that limit a value without changing its shape. */
const BOUNDS =
  /^(minimum|maximum|exclusiveM(in|ax)imum|multipleOf|(min|max)(Length|Items)|uniqueItems|pattern|format|default|examples|content(Encoding|MediaType))$/

/** A reference to a definition, the only one that OpenAI accepts besides that to the root. */
const REFERENCE = /^#(\/\$defs\/[^/]+)?$/

/** OpenAI limits the length of an enum with more values than this. */
const MANY_VALUES = 250

function strictly(schema: unknown, found: Found, level: number): Strict | undefined {
  if (!isRecord(schema)) return undefined
  found.levels = Math.max(found.levels, level)
  const { $schema: _, $defs, ...members } = schema
  const defs = $defs === undefined ? {} : strictMembers($defs, found, level)
  if (!defs) return undefined
  const strict: Strict = $defs === undefined ? {} : { $defs: defs }
  if (members.$ref !== undefined) {
    found.refers = true
    const { $ref } = members
    return typeof $ref === 'string' && REFERENCE.test($ref) ? { ...strict, $ref } : undefined
  }
  const bounds: string[] = []
  for (const [key, value] of Object.entries(members)) {
    if (BOUNDS.test(key)) bounds.push(`${key}: ${JSON.stringify(value)}`)
    else {
      const member = strictMember(key, value, found, level)
      if (!member) return undefined
      Object.assign(strict, member)
    }
  }
  if (!SHAPES.some((key) => key in strict)) return undefined
  if ('anyOf' in strict || Array.isArray(strict.type)) found.unions += 1
  if (bounds.length > 0) strict.description = [strict.description, `{${bounds.join(', ')}}`].filter(Boolean).join(' ')
  return [strict.type].flat().includes('object') ? closed(strict, found) : strict
}

/** Converts one keyword; `undefined` for those that the wires do not support. */
function strictMember(key: string, value: unknown, found: Found, level: number): Strict | undefined {
  switch (key) {
    case 'enum':
    case 'const':
      countValues(key === 'enum' && Array.isArray(value) ? value : [value], found)
      return { [key]: value }
    case 'type':
    case 'required':
    case 'title':
    case 'description':
      return { [key]: value }
    case 'additionalProperties':
      return value === false ? {} : undefined
    case 'items': {
      const items = strictly(value, found, level + 1)
      return items && { items }
    }
    case 'properties': {
      const properties = strictMembers(value, found, level + 1)
      return properties && { properties }
    }
    case 'anyOf':
    case 'oneOf': {
      const anyOf = Array.isArray(value) ? value.map((one) => strictly(one, found, level)) : [undefined]
      return anyOf.includes(undefined) ? undefined : { anyOf }
    }
    default:
      return undefined
  }
}

function countValues(values: readonly unknown[], found: Found): void {
  const characters = values.reduce<number>((sum, value) => sum + String(value).length, 0)
  found.characters += characters
  found.values += values.length
  if (values.length > MANY_VALUES) found.longest = Math.max(found.longest, characters)
}

function strictMembers(members: unknown, found: Found, level: number): Strict | undefined {
  if (!isRecord(members)) return undefined
  const strict = Object.entries(members).map(([name, schema]) => {
    found.characters += name.length
    return [name, strictly(schema, found, level)] as const
  })
  return strict.some(([, schema]) => !schema) ? undefined : Object.fromEntries(strict)
}

function closed(object: Strict, found: Found): Strict | undefined {
  const { properties, required } = object
  if (!isRecord(properties)) return undefined
  const needed = new Set(Array.isArray(required) ? required : [])
  const names = Object.keys(properties)
  found.properties += names.length
  found.optional += names.filter((name) => !needed.has(name)).length
  return { ...object, additionalProperties: false }
}
