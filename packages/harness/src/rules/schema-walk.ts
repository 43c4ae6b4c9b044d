/** Walks a JSON Schema: every schema in it, however deep. */

import { isRecord } from '@meanwhile/core/calls'
import { list, type Members } from './values.ts'

/** A schema in a schema. */
export interface SchemaNode {
  /** From the body: `tools[0].function.parameters/properties/city`. */
  readonly path: string
  /** From the root: `/properties/city`. */
  readonly at: string
  readonly schema: Members
  /** The levels of objects and lists round it. */
  readonly depth: number
  /** The keyword that has it; undefined for the root. */
  readonly keyword: string | undefined
  /** Whether it is, or is in, a member of an object. */
  readonly inMember: boolean
  /** The definition of the root that it is in; undefined outside of them. */
  readonly definition: string | undefined
}

const NAMED = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const SINGLE = [
  'items',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'unevaluatedProperties',
]
const DEFINITIONS = new Set(['$defs', 'definitions'])
const LISTED = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

export function schemaNodes(schema: unknown, path: string): readonly SchemaNode[] {
  if (!isRecord(schema)) return []
  const nodes: SchemaNode[] = [
    { path, at: '', schema, depth: 0, keyword: undefined, inMember: false, definition: undefined },
  ]
  // The list grows while it is read: no recursion, because a schema may be deeper than the stack.
  for (const parent of nodes) addChildren(parent, path, nodes)
  return nodes
}

function addChildren(parent: SchemaNode, path: string, nodes: SchemaNode[]): void {
  const { schema, at } = parent
  const add = (child: unknown, keyword: string, place: string, name?: string): void => {
    if (!isRecord(child)) return
    const inside = `${at}/${keyword}${place}`
    nodes.push({
      path: path + inside,
      at: inside,
      schema: child,
      depth: parent.depth + (keyword === 'properties' || keyword === 'items' ? 1 : 0),
      keyword,
      inMember: parent.inMember || keyword === 'properties',
      definition: parent.definition ?? (at === '' && DEFINITIONS.has(keyword) ? name : undefined),
    })
  }
  for (const keyword of NAMED) {
    const named = schema[keyword]
    if (isRecord(named)) for (const name of Object.keys(named)) add(named[name], keyword, `/${name}`, name)
  }
  for (const keyword of SINGLE) add(schema[keyword], keyword, '')
  for (const keyword of LISTED) for (const [i, child] of list(schema[keyword]).entries()) add(child, keyword, `/${i}`)
}
