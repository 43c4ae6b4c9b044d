/** The schemas that Messages enforces: of the output and of strict tools. It compiles them, so it limits their content. */

import { whole } from './finds.ts'
import type { DeclaredSchema, Reading } from './reading.ts'
import { type Find, type RuleData, seen, type Wrong } from './rule.ts'
import { closed, isOpen, keyword, many, optionalOf, total, wholeOf, within } from './schema-finds.ts'
import type { SchemaNode } from './schema-walk.ts'
import { isText, type Members, members, nameIn, numberOf } from './values.ts'

const ANTHROPIC_DOCS = seen('2026-07', 'vercel/ai#17268', 'Anthropic docs, Structured outputs, JSON Schema limitations')
/** The limits of the output's schema hold for those of strict tools, too. */
const STRICT_DOCS = seen('2026-09', 'Anthropic docs, Structured outputs, Schema complexity limits')

function compiledOf({ schemas }: Reading): readonly DeclaredSchema[] {
  return schemas.filter(({ what, strict }) => strict || what === 'response_format')
}

/** A number over all schemas of a request together. */
function inAll(of: (node: SchemaNode) => number, most: number): Find {
  return function* (request) {
    const compiled = compiledOf(request)
    const count = compiled.reduce((sum, { nodes }) => sum + total(nodes, of), 0)
    if (count > most) yield { path: compiled[0]?.path ?? '', count }
  }
}

/** The part of the request that the provider names for a schema in it. */
function ownerOf({ path }: { readonly path: string }): string {
  return path.replace(/\.input_schema(\/.*)?$/, '').replace(/\/.*$/, '')
}

/** What is wrong with a schema, with the part of the request that has it. */
function owned<Place extends { readonly path: string }>(wrong: (place: Place) => Wrong): (place: Place) => Wrong {
  return (place) => {
    const how = wrong(place)
    return how && { owner: ownerOf(place), ...(how === true ? {} : how) }
  }
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

const TOO_MANY = 'Schemas contains too many'

export const compiledSchemas: readonly RuleData[] = [
  {
    id: 'messages/format-object-open',
    sure: 'certain',
    says: "{owner}: For 'object' type, 'additionalProperties' must be explicitly set to false",
    sources: ANTHROPIC_DOCS,
    finds: within(compiledOf, owned(isOpen)),
    bad: output({ type: 'object', properties: {} }),
  },
  {
    id: 'messages/format-bounds',
    sure: 'certain',
    says: "{owner}: For '{type}' type, properties {key} are not supported",
    sources: ANTHROPIC_DOCS,
    finds: within(compiledOf, owned(boundOf)),
    bad: output(closed({ count: { type: 'number', minimum: 1 } })),
  },
  {
    id: 'messages/format-keyword',
    sure: 'certain',
    says: '{owner}: {key} is not supported',
    sources: ANTHROPIC_DOCS,
    finds: within(compiledOf, owned(keyword(UNSUPPORTED))),
    bad: output(closed({ city: { oneOf: [{ type: 'string' }] } })),
  },
  {
    id: 'messages/format-optional',
    sure: 'certain',
    says: `${TOO_MANY} optional parameters ({count}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).`,
    sources: [...STRICT_DOCS, ...seen('2026-04', 'elie222/inbox-zero#2323')],
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
    id: 'messages/strict-tools-many',
    sure: 'certain',
    says: 'tools: at most 20 tools may be strict. Found {count}.',
    sources: STRICT_DOCS,
    finds: whole('tools', ({ tools }) => {
      const count = tools.filter(({ value }) => value.strict === true).length
      return count > 20 && { count }
    }),
    bad: { tools: Array.from({ length: 21 }, (_, i) => ({ name: `t${i}`, strict: true, input_schema: closed({}) })) },
  },
  {
    id: 'messages/format-recursive',
    sure: 'certain',
    says: '{owner}: recursive schemas are not supported',
    sources: ANTHROPIC_DOCS,
    finds: wholeOf(compiledOf, owned(isRecursive)),
    bad: output({
      ...closed({ root: { $ref: '#/$defs/node' } }),
      $defs: { node: closed({ next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }) },
    }),
  },
]
