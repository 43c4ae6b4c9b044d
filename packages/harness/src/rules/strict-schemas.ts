/** The schemas that OpenAI's strict mode enforces. */

import { isRecord } from '@meanwhile/core/calls'
import { OPENAI_HOSTS } from './hosts.ts'
import type { DeclaredSchema, Reading } from './reading.ts'
import { type RuleData, seen } from './rule.ts'
import { closed, isObject, isOpen, keyword, many, optionalOf, total, wholeOf, within } from './schema-finds.ts'
import type { SchemaNode } from './schema-walk.ts'
import { isText, list, type Members, members, nameIn } from './values.ts'

const OPENAI_DOCS = seen('2026-11', 'OpenAI docs, Structured outputs')

function strictOf({ schemas }: Reading): readonly DeclaredSchema[] {
  return schemas.filter(({ strict }) => strict)
}

/** The characters of names, enums and constants. */
function textOf({ schema: { properties, enum: values, const: only } }: SchemaNode): number {
  const names = [...Object.keys(members(properties)), ...list(values), only]
  return names.reduce<number>((sum, value) => sum + (isText(value) ? value.length : 0), 0)
}

function hasLargeEnum({ schema }: SchemaNode): boolean {
  const values = list(schema.enum)
  const characters = values.reduce<number>((sum, value) => sum + (isText(value) ? value.length : 0), 0)
  return values.length > 250 && characters > 15_000
}

function deep(levels: number): Members {
  const leaf: Members = { type: 'string' }
  return Array.from({ length: levels }).reduce<Members>((inner) => closed({ in: inner }), leaf)
}

const EDGES = /^#(\/(\$defs|definitions)\/[^/]+)?$/

const BANNED = ['allOf', 'not', 'dependentRequired', 'dependentSchemas', 'if', 'then', 'else']
const UNLISTED = [
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'contains',
  'oneOf',
  'prefixItems',
  'uniqueItems',
]
const TYPED = ['type', 'enum', 'const', 'anyOf', '$ref', '$defs']

/** The rules of strict mode on a wire of OpenAI; `at` is the path of the enforced schema of the sound body. */
function strict(wire: 'chat' | 'responses', at: string): RuleData[] {
  const base = {
    sure: 'certain',
    sources: OPENAI_DOCS,
    ...(wire === 'chat' && { hosts: OPENAI_HOSTS }),
  } as const
  const says = (how: string): string => `Invalid schema for {what} '{name}': ${how}`
  const inContext = (how: string): string => says(`In context={at}, ${how}`)
  const title = `${at}.properties.title`
  return [
    {
      ...base,
      id: `${wire}/strict-root`,
      says: says(`schema must be a JSON Schema of 'type: "object"'.`),
      finds: wholeOf(strictOf, ({ schema }) => !isRecord(schema) || schema.type !== 'object' || 'anyOf' in schema),
      bad: { [at]: { anyOf: [deep(1)] } },
    },
    {
      ...base,
      id: `${wire}/strict-object-open`,
      says: inContext("'additionalProperties' is required to be supplied and to be false."),
      sources: [...OPENAI_DOCS, ...seen('2026-11', 'xemantic/xemantic-ai-tool-schema#37')],
      finds: within(strictOf, isOpen),
      bad: { [`${at}.additionalProperties`]: undefined },
    },
    {
      ...base,
      id: `${wire}/strict-optional`,
      says: inContext(
        "'required' is required to be supplied and to be an array including every key in properties. Missing '{key}'.",
      ),
      sources: [...OPENAI_DOCS, ...seen('2026-11', 'kevinwatt/mysql-mcp#5')],
      finds: within(strictOf, ({ schema }) => {
        const [key] = isObject(schema) ? optionalOf(schema) : []
        return key !== undefined && { key }
      }),
      bad: { [`${at}.required`]: ['root'] },
    },
    {
      ...base,
      id: `${wire}/strict-keyword`,
      says: inContext("'{key}' is not permitted."),
      finds: within(strictOf, keyword(BANNED)),
      bad: { [title]: { type: 'string', not: { const: '' } } },
    },
    {
      ...base,
      id: `${wire}/strict-keyword-unlisted`,
      says: inContext("'{key}' is not permitted."),
      sources: [...OPENAI_DOCS, ...seen('2026-11', 'not among the supported keywords; oneOf is quoted often')],
      finds: within(strictOf, keyword(UNLISTED)),
      bad: { [title]: { type: 'string', oneOf: [{ minLength: 1 }] } },
    },
    {
      ...base,
      id: `${wire}/strict-no-type`,
      says: inContext("schema must have a 'type' key."),
      finds: within(strictOf, ({ schema }) => nameIn(schema, TYPED) === undefined),
      bad: { [title]: {} },
    },
    {
      ...base,
      id: `${wire}/strict-ref`,
      says: inContext('reference can only point to definitions defined at the top level of the schema.'),
      finds: within(strictOf, ({ schema: { $ref } }) => $ref !== undefined && !(isText($ref) && EDGES.test($ref))),
      bad: { [title]: { $ref: '#/properties/root' } },
    },
    {
      ...base,
      id: `${wire}/strict-depth`,
      says: says('{depth} levels of nesting exceeds limit of 10.'),
      sources: [...OPENAI_DOCS, ...seen('2026-09', 'openai-java#732', 'openai-java#1001')],
      finds: wholeOf(strictOf, ({ nodes }) => {
        const depth = nodes.reduce((most, node) => Math.max(most, node.depth), 0)
        return depth > 10 && { depth }
      }),
      bad: { [at]: deep(11) },
    },
    {
      ...base,
      id: `${wire}/strict-properties`,
      says: says('{count} parameters exceed the limit of 5000.'),
      sources: [...OPENAI_DOCS, ...seen('2026-11', '100 until 2025: openai/openai-node#1176')],
      finds: wholeOf(strictOf, ({ nodes }) => {
        const count = total(nodes, ({ schema }) => Object.keys(members(schema.properties)).length)
        return count > 5000 && { count }
      }),
      bad: { [at]: closed(many(5001, { type: 'string' })) },
    },
    {
      ...base,
      id: `${wire}/strict-enum`,
      says: says('enum values exceed the limit (1000 in all; 15,000 characters in an enum of more than 250).'),
      finds: wholeOf(strictOf, ({ nodes }) => {
        return total(nodes, ({ schema }) => list(schema.enum).length) > 1000 || nodes.some(hasLargeEnum)
      }),
      bad: { [title]: { enum: Array.from({ length: 1001 }, (_, i) => `e${i}`) } },
    },
    {
      ...base,
      id: `${wire}/strict-text`,
      says: says('total string length exceeds 120,000.'),
      finds: wholeOf(strictOf, ({ nodes }) => total(nodes, textOf) > 120_000),
      bad: { [title]: { enum: ['e'.repeat(120_001)] } },
    },
  ]
}

export const strictSchemas: readonly RuleData[] = [
  ...strict('chat', 'response_format.json_schema.schema'),
  ...strict('responses', 'text.format.schema'),
]
