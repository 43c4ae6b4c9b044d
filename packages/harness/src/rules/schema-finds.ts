/** Finds the schemas of a request that a rule refuses. */

import type { DeclaredSchema, Reading } from './reading.ts'
import type { Find, Wrong } from './rule.ts'
import type { SchemaNode } from './schema-walk.ts'
import { list, type Members, members, nameIn } from './values.ts'

/** Finds a schema inside these schemas. */
export function within(of: (request: Reading) => readonly DeclaredSchema[], wrong: (node: SchemaNode) => Wrong): Find {
  return function* (request) {
    for (const { name, what, nodes } of of(request))
      for (const node of nodes) {
        const how = wrong(node)
        if (how) yield { path: node.path, name, what, at: node.at || '()', ...(how === true ? {} : how) }
      }
  }
}

/** Finds a schema that is wrong as a whole. */
export function wholeOf(
  of: (request: Reading) => readonly DeclaredSchema[],
  wrong: (schema: DeclaredSchema) => Wrong,
): Find {
  return function* (request) {
    for (const schema of of(request)) {
      const how = wrong(schema)
      const { path, name, what } = schema
      if (how) yield { path, name, what, ...(how === true ? {} : how) }
    }
  }
}

export function total(nodes: readonly SchemaNode[], of: (node: SchemaNode) => number): number {
  return nodes.reduce((sum, node) => sum + of(node), 0)
}

export function isObject({ type }: Members): boolean {
  return type === 'object' || list(type).includes('object')
}

export function isOpen({ schema }: SchemaNode): boolean {
  return isObject(schema) && schema.additionalProperties !== false
}

export function optionalOf({ properties, required }: Members): readonly string[] {
  const names = new Set(list(required))
  return Object.keys(members(properties)).filter((name) => !names.has(name))
}

export function keyword(names: readonly string[]): (node: SchemaNode) => Wrong {
  return ({ schema }) => {
    const key = nameIn(schema, names)
    return key !== undefined && { key }
  }
}

export function closed(properties: Members): Members {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

export function many(count: number, schema: Members): Members {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, schema]))
}
