/** Writes the input schema of a tool as providers take it. Core checks each input with the tool's own schema. */

import type { ToolDefinition } from '@meanwhile/core'
import type { Target } from './families.ts'
import { isRecord } from './is-record.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * The schema of an object with `properties`, in draft 2020-12 and without alternatives at its root. The same schema if
 * it is one already.
 */
export function inputSchema({ inputSchema: given }: ToolDefinition, { host }: Target): Record<string, unknown> {
  const known = written.get(given)
  const made = known?.get(host) ?? objectSchema(modern(given, host))
  written.set(given, (known ?? new WeakMap<object, Record<string, unknown>>()).set(host, made))
  return made
}

/** By schema and host, because a tool has the same schema in every request. */
const written = new WeakMap<object, WeakMap<object, Record<string, unknown>>>()

/** The keywords of a root that providers reject. */
const AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', '$ref'] as const

/**
 * An object with all members of all alternatives. Those that every alternative requires are required; the description
 * has the alternatives themselves.
 */
function objectSchema(root: Schema): Record<string, unknown> {
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
  const [first, ...others] = forms
  return {
    properties: merged(forms),
    required: (first?.required ?? []).filter((key) => others.every(({ required }) => required.includes(key))),
    isOpen: forms.some(({ isOpen }) => isOpen),
  }
}

/** All members. One with several schemas may match any of them. */
function merged(all: readonly Members[]): Readonly<Record<string, unknown>> {
  const schemas = new Map<string, unknown[]>()
  for (const { properties } of all) {
    for (const [key, schema] of Object.entries(properties)) {
      const known = schemas.get(key) ?? []
      if (!known.some((one) => JSON.stringify(one) === JSON.stringify(schema))) known.push(schema)
      schemas.set(key, known)
    }
  }
  return Object.fromEntries([...schemas].map(([key, known]) => [key, known.length === 1 ? known[0] : { anyOf: known }]))
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set(
  (
    'items additionalItems unevaluatedItems contains ' +
    'additionalProperties unevaluatedProperties propertyNames not if then else'
  ).split(' '),
)
const LIST = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NAMED = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'])

/** The schema in draft 2020-12: keywords of older drafts and of OpenAPI are converted. The same schema if it has none. */
function modern(given: unknown, host: Target['host'], isRoot = true): Schema {
  if (!isRecord(given)) return {}
  const schema: Record<string, unknown> = {}
  const whole = host.needsTypes && !isRoot ? withTypedForms(given) : given
  for (const [key, value] of Object.entries(whole)) schema[key] = modernMember(key, value, host)
  modernItems(schema)
  modernBounds(schema)
  modernRequired(schema, given)
  if (typeof schema.$schema === 'string' && !schema.$schema.includes('2020-12')) delete schema.$schema
  if (host.anchorsPatterns && typeof schema.pattern === 'string' && !/^\^.*\$$/s.test(schema.pattern)) {
    schema.description = [schema.description, `{pattern: ${JSON.stringify(schema.pattern)}}`].filter(Boolean).join(' ')
    delete schema.pattern
  }
  if (host.needsTypes) typed(schema, isRoot)
  const isSame = Object.keys(schema).length === Object.keys(given).length
  return isSame && Object.keys(schema).every((key) => schema[key] === given[key]) ? given : schema
}

function modernMember(key: string, value: unknown, host: Target['host']): unknown {
  const inside = (one: unknown) => (isRecord(one) && !Array.isArray(one) ? modern(one, host, false) : one)
  if (key === 'items' && Array.isArray(value)) return kept(value, value.map(inside))
  if (ONE.has(key)) return inside(value)
  if (LIST.has(key) && Array.isArray(value)) return kept(value, value.map(inside))
  if (!NAMED.has(key) || !isRecord(value)) return value
  const entries = Object.entries(value).map(([name, one]) => [name, inside(one)] as const)
  return entries.every(([name, one]) => one === value[name]) ? value : Object.fromEntries(entries)
}

function kept(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((one, i) => one === before[i]) ? before : after
}

/** A tuple was a list of `items`. A list without `items` is a list of anything. */
function modernItems(schema: Record<string, unknown>): void {
  const { items, additionalItems } = schema
  if (Array.isArray(items)) {
    delete schema.items
    if (items.length > 0) schema.prefixItems = items
    schema.items = additionalItems ?? {}
  }
  delete schema.additionalItems
  const isList = [schema.type].flat().includes('array')
  if (isList && schema.items === undefined && schema.prefixItems === undefined) schema.items = {}
}

/** `exclusiveMinimum: true` made the minimum exclusive. */
function modernBounds(schema: Record<string, unknown>): void {
  for (const [exclusive, bound] of BOUNDS) {
    const value = schema[exclusive]
    if (typeof value !== 'boolean') continue
    delete schema[exclusive]
    if (!value || typeof schema[bound] !== 'number') continue
    schema[exclusive] = schema[bound]
    delete schema[bound]
  }
}

const BOUNDS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const

/** A member could say itself that it was required. */
function modernRequired(schema: Record<string, unknown>, { properties }: Schema): void {
  if (schema.required !== undefined && !Array.isArray(schema.required)) delete schema.required
  if (!isRecord(properties)) return
  const required = Object.keys(properties).filter((key) => {
    const member = properties[key]
    return isRecord(member) && member.required === true
  })
  if (required.length > 0) schema.required = [...new Set([...listOf(schema.required), ...required])]
}

/** Any value, in types. */
const ANY = { anyOf: ['string', 'number', 'boolean', 'object', 'null'].map((type) => ({ type })) }

/** Moonshot requires a type everywhere. */
function typed(schema: Record<string, unknown>, isRoot: boolean): void {
  if (isRecord(schema.items) && Object.keys(schema.items).length === 0) schema.items = ANY
  if (isRoot || ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].some((key) => key in schema)) return
  const values = 'const' in schema ? [schema.const] : listOf(schema.enum)
  const types = [...new Set(values.map(typeOf))]
  if (types.length === 1) schema.type = types[0]
  else if (isRecord(schema.properties)) schema.type = 'object'
  else if (schema.items !== undefined) schema.type = 'array'
  else if (values.length > 0) schema.type = types
  else Object.assign(schema, ANY)
}

/** If there are alternatives, Moonshot requires the type in these. */
function withTypedForms(schema: Schema): Schema {
  const { type, anyOf, ...rest } = schema
  if (type === undefined || !Array.isArray(anyOf)) return schema
  const forms = anyOf.map((form: unknown) => (isRecord(form) && !('type' in form) ? { type, ...form } : form))
  return { ...rest, anyOf: forms }
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
