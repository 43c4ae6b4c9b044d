/** Writes a schema without alternatives at its root: providers require an object with `properties` there. */

import { isRecord } from './is-record.ts'
import { listOf, type Schema } from './modern-schema.ts'

/** The keywords of a root that providers reject. */
const AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', '$ref'] as const

/**
 * An object with all members of all alternatives. Those that every alternative requires are required; the description
 * has the alternatives themselves.
 */
export function objectSchema(root: Schema): Record<string, unknown> {
  const isPlain = root.type === 'object' && isRecord(root.properties) && !AT_ROOT.some((key) => key in root)
  if (isPlain) return root
  const { properties, required, isOpen } = membersOf(root, { root, known: new Map() }, 0)
  const rest = Object.fromEntries(Object.entries(root).filter(([key]) => !AT_ROOT.some((one) => one === key)))
  const rules = Object.fromEntries(
    AT_ROOT.filter((key) => key in root && key !== '$ref').map((key) => [key, root[key]]),
  )
  const said = Object.keys(rules).length > 0 ? `The input must match ${JSON.stringify(rules)}` : ''
  const description = [rest.description, said].filter(Boolean).join('\n\n')
  const { additionalProperties: _, ...others } = rest
  return {
    ...others,
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...('additionalProperties' in rest
      ? { additionalProperties: rest.additionalProperties }
      : !isOpen && { additionalProperties: false }),
    ...(description !== '' && { description }),
  }
}

interface Members {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
  /** Whether other members are allowed. */
  readonly isOpen: boolean
}

const NO_MEMBERS: Members = { properties: {}, required: [], isOpen: true }

interface Whole {
  readonly root: Schema
  /** By reference. References may be circular, and many may lead to the same schema. */
  readonly known: Map<string, Members>
}

const MAX_DEPTH = 20

function membersOf(schema: unknown, whole: Whole, depth: number): Members {
  if (!isRecord(schema) || depth > MAX_DEPTH) return NO_MEMBERS
  const own: Members = {
    properties: isRecord(schema.properties) ? schema.properties : {},
    required: listOf(schema.required).filter((key) => typeof key === 'string'),
    isOpen: schema.additionalProperties !== false,
  }
  const within = (one: unknown) => membersOf(one, whole, depth + 1)
  const all = [own, ...listOf(schema.allOf).map(within)]
  if (typeof schema.$ref === 'string') all.push(referred(schema.$ref, whole, depth + 1))
  for (const forms of [schema.anyOf, schema.oneOf]) {
    const objects = listOf(forms).filter(mayBeObject)
    if (objects.length > 0) all.push(oneOf(objects.map(within)))
  }
  // One closed part does not close the whole.
  const isOpen = all.length > 1 ? all.slice(1).some((one) => one.isOpen) && own.isOpen : own.isOpen
  return { properties: merged(all), required: [...new Set(all.flatMap(({ required }) => required))], isOpen }
}

function referred(reference: string, whole: Whole, depth: number): Members {
  const { root, known } = whole
  const found = known.get(reference)
  if (found) return found
  known.set(reference, NO_MEMBERS)
  const members = membersOf(behind(reference, root), whole, depth)
  known.set(reference, members)
  return members
}

/** The members of which a value has those of one alternative. */
function oneOf(forms: readonly Members[]): Members {
  /** How many alternatives require each member. */
  const counts = new Map<string, number>()
  for (const { required } of forms) for (const key of new Set(required)) counts.set(key, (counts.get(key) ?? 0) + 1)
  return {
    properties: merged(forms),
    required: [...counts].filter(([, count]) => count === forms.length).map(([key]) => key),
    isOpen: forms.some(({ isOpen }) => isOpen),
  }
}

/** All members. One with several schemas may match any of them. */
function merged(all: readonly Members[]): Readonly<Record<string, unknown>> {
  /** By member, its schemas by their JSON. */
  const schemas = new Map<string, Map<string, unknown>>()
  for (const { properties } of all) {
    for (const [key, schema] of Object.entries(properties)) {
      const known = schemas.get(key) ?? new Map<string, unknown>()
      const text = JSON.stringify(schema)
      if (!known.has(text)) known.set(text, schema)
      schemas.set(key, known)
    }
  }
  return Object.fromEntries(
    [...schemas].map(([key, known]) => {
      const [first, ...others] = known.values()
      return [key, others.length === 0 ? first : { anyOf: [first, ...others] }]
    }),
  )
}

function mayBeObject(schema: unknown): boolean {
  return isRecord(schema) && (schema.type === undefined || [schema.type].flat().includes('object'))
}

function behind(reference: string, root: Schema): unknown {
  const path = reference.split('/').slice(1)
  return path.reduce<unknown>((schema, name) => (isRecord(schema) ? schema[unescaped(name)] : undefined), root)
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}
