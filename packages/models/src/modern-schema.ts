/** Writes a schema in draft 2020-12, with what a host requires in it besides. */

import type { Target } from './families.ts'
import { isRecord } from './is-record.ts'

export type Schema = Readonly<Record<string, unknown>>

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
export function modern(given: unknown, host: Target['host'], isRoot = true): Schema {
  if (!isRecord(given)) return {}
  const schema: Record<string, unknown> = {}
  const whole = host.needsTypes && !isRoot ? withTypedForms(given) : given
  for (const [key, value] of Object.entries(whole)) schema[key] = modernMember(key, value, host)
  modernItems(schema)
  modernBounds(schema)
  modernRequired(schema, given)
  if (typeof schema.$schema === 'string' && !schema.$schema.includes('2020-12')) delete schema.$schema
  if (host.anchorsPatterns && typeof schema.pattern === 'string' && !/^\^.*\$$/s.test(schema.pattern))
    described(schema, ['pattern'])
  if (host.unknownKeywords) withoutKeywords(schema, host.unknownKeywords)
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

/** Moves these keywords into the description: core checks them anyway. */
function described(schema: Record<string, unknown>, keys: readonly string[]): void {
  const rules = keys.map((key) => `${key}: ${JSON.stringify(schema[key])}`)
  for (const key of keys) delete schema[key]
  schema.description = [schema.description, `{${rules.join(', ')}}`].filter(Boolean).join(' ')
}

/** A constant text is an enum of one. */
function withoutKeywords(schema: Record<string, unknown>, unknown: ReadonlySet<string>): void {
  if ('const' in schema && unknown.has('const')) {
    schema.type ??= typeOf(schema.const)
    if (typeof schema.const === 'string') {
      schema.enum = [schema.const]
      delete schema.const
    }
  }
  const keys = Object.keys(schema).filter((key) => unknown.has(key))
  if (keys.length > 0) described(schema, keys)
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

/** The value if it is a list; otherwise an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
