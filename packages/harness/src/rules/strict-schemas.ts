/** Schemas that a provider is asked to enforce: OpenAI's strict mode, and structured output on Messages. */

import type { DeclaredSchema, Reading } from './reading.ts'
import { type Find, type RuleData, seen, type Wrong } from './rule.ts'
import type { SchemaNode } from './schema-walk.ts'
import { isRecord, isText, list, type Members, members, nameIn, numberOf } from './values.ts'

const OPENAI_DOCS = seen('2026-11', 'OpenAI docs, Structured outputs')
const ANTHROPIC_DOCS = seen('2026-07', 'vercel/ai#17268', 'Anthropic docs, Structured outputs, JSON Schema limitations')

function strictOf({ schemas }: Reading): readonly DeclaredSchema[] {
  return schemas.filter(({ strict }) => strict)
}

function outputOf({ schemas }: Reading): readonly DeclaredSchema[] {
  return schemas.filter(({ what }) => what === 'response_format')
}

/** Finds a schema inside enforced schemas. */
function within(of: (request: Reading) => readonly DeclaredSchema[], wrong: (node: SchemaNode) => Wrong): Find {
  return function* (request) {
    for (const { name, what, nodes } of of(request))
      for (const node of nodes) {
        const how = wrong(node)
        if (how) yield { path: node.path, name, what, at: node.at || '()', ...(how === true ? {} : how) }
      }
  }
}

/** Finds an enforced schema that is wrong as a whole. */
function wholeOf(of: (request: Reading) => readonly DeclaredSchema[], wrong: (schema: DeclaredSchema) => Wrong): Find {
  return function* (request) {
    for (const schema of of(request)) {
      const how = wrong(schema)
      const { path, name, what } = schema
      if (how) yield { path, name, what, ...(how === true ? {} : how) }
    }
  }
}

/** A number over all schemas of a request together. */
function inAll(of: (node: SchemaNode) => number, most: number): Find {
  return function* (request) {
    const count = outputOf(request).reduce((sum, { nodes }) => sum + total(nodes, of), 0)
    if (count > most) yield { path: 'output_config.format.schema', count }
  }
}

function total(nodes: readonly SchemaNode[], of: (node: SchemaNode) => number): number {
  return nodes.reduce((sum, node) => sum + of(node), 0)
}

function isObject({ type }: Members): boolean {
  return type === 'object' || list(type).includes('object')
}

function isOpen({ schema }: SchemaNode): boolean {
  return isObject(schema) && schema.additionalProperties !== false
}

function optionalOf({ properties, required }: Members): readonly string[] {
  const names = new Set(list(required))
  return Object.keys(members(properties)).filter((name) => !names.has(name))
}

function keyword(names: readonly string[]): (node: SchemaNode) => Wrong {
  return ({ schema }) => {
    const key = nameIn(schema, names)
    return key !== undefined && { key }
  }
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

/** Whether a definition contains itself: what stays when everything without an open reference is taken away. */
function isRecursive({ schema, nodes }: DeclaredSchema): boolean {
  const root = members(schema)
  const names = [...Object.keys(members(root.$defs)), ...Object.keys(members(root.definitions))]
  const users = new Map<string, string[]>(['#', ...names].map((name) => [name, []]))
  const open = new Map<string, number>([...users.keys()].map((name) => [name, 0]))
  for (const { definition, schema: node } of nodes) {
    if (!isText(node.$ref)) continue
    const target = node.$ref === '#' ? '#' : (/^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(node.$ref)?.[1] ?? '')
    const owner = definition ?? '#'
    const of = users.get(target)
    if (!of || !open.has(owner)) continue
    of.push(owner)
    open.set(owner, (open.get(owner) ?? 0) + 1)
  }
  const free = [...open].filter(([, count]) => count === 0).map(([name]) => name)
  for (const name of free)
    for (const user of users.get(name) ?? []) {
      const left = (open.get(user) ?? 0) - 1
      open.set(user, left)
      if (left === 0) free.push(user)
    }
  return free.length < open.size
}

function deep(levels: number): Members {
  const leaf: Members = { type: 'string' }
  return Array.from({ length: levels }).reduce<Members>((inner) => closed({ in: inner }), leaf)
}

function closed(properties: Members): Members {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function many(count: number, schema: Members): Members {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, schema]))
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
    ...(wire === 'chat' && { hosts: ['openai', 'azure'] as const }),
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

const BOUNDS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
]
const UNSUPPORTED = [
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'prefixItems',
  'contains',
]

function boundOf({ schema }: SchemaNode): Wrong {
  const key = nameIn(schema, BOUNDS) ?? (numberOf(schema.minItems) > 1 ? 'minItems' : undefined)
  return key !== undefined && { key, type: schema.type }
}

function unionsOf({ schema }: SchemaNode): number {
  const properties = Object.values(members(schema.properties)).map(members)
  return properties.filter(({ anyOf, type }) => Array.isArray(anyOf) || Array.isArray(type)).length
}

function output(schema: Members): { readonly output_config: Members } {
  return { output_config: { format: { type: 'json_schema', schema } } }
}

const FORMAT = 'output_config.format.schema'
const TOO_MANY = 'Schemas contains too many'

const messages: readonly RuleData[] = [
  {
    id: 'messages/format-object-open',
    sure: 'certain',
    says: `${FORMAT}: For 'object' type, 'additionalProperties' must be explicitly set to false`,
    sources: ANTHROPIC_DOCS,
    finds: within(outputOf, isOpen),
    bad: output({ type: 'object', properties: {} }),
  },
  {
    id: 'messages/format-bounds',
    sure: 'certain',
    says: `${FORMAT}: For '{type}' type, properties {key} are not supported`,
    sources: ANTHROPIC_DOCS,
    finds: within(outputOf, boundOf),
    bad: output(closed({ count: { type: 'number', minimum: 1 } })),
  },
  {
    id: 'messages/format-keyword',
    sure: 'certain',
    says: `${FORMAT}: {key} is not supported`,
    sources: ANTHROPIC_DOCS,
    finds: within(outputOf, keyword(UNSUPPORTED)),
    bad: output(closed({ city: { oneOf: [{ type: 'string' }] } })),
  },
  {
    id: 'messages/format-optional',
    sure: 'certain',
    says: `${TOO_MANY} optional parameters ({count}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).`,
    sources: seen('2026-04', 'elie222/inbox-zero#2323'),
    finds: inAll(({ schema }) => optionalOf(schema).length, 24),
    bad: output({ ...closed(many(25, { type: 'string' })), required: [] }),
  },
  {
    id: 'messages/format-unions',
    sure: 'certain',
    says: `${TOO_MANY} parameters with union types ({count}), which would make grammar compilation inefficient. Reduce the number of parameters with union types (limit: 16).`,
    sources: [...ANTHROPIC_DOCS, ...seen('2026-09', 'ENTERPILOT/GoModel#963')],
    finds: inAll(unionsOf, 16),
    bad: output(closed(many(17, { anyOf: [{ type: 'string' }, { type: 'null' }] }))),
  },
  {
    id: 'messages/format-recursive',
    sure: 'certain',
    says: `${FORMAT}: recursive schemas are not supported`,
    sources: ANTHROPIC_DOCS,
    finds: wholeOf(outputOf, isRecursive),
    bad: output({
      ...closed({ root: { $ref: '#/$defs/node' } }),
      $defs: { node: closed({ next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }) },
    }),
  },
]

export const strictSchemas: readonly RuleData[] = [
  ...strict('chat', 'response_format.json_schema.schema'),
  ...strict('responses', 'text.format.schema'),
  ...messages,
]
