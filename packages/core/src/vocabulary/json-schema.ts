/** Checks a value with a JSON Schema, for when the original schema is in another process. */

import { canonical } from './canonical.ts'
import type { Issue } from './errors.ts'
import { isRecord } from './json.ts'
import { isObject } from './json-text.ts'

/**
 * Returns the issues of a value that does not match the schema. Checks types, constants, members, items, alternatives and references. Ignores other
 * keywords, such as `minimum`, `pattern` and `format`.
 */
export function misfits(
  schema: unknown,
  value: unknown,
  path: readonly string[] = [],
  root: unknown = schema,
): Issue[] {
  const wrong = (message: string): Issue[] => [{ path: path.join('.'), message }]
  if (!isRecord(schema)) return schema === false ? wrong('must be absent') : []
  const { type = [], required, properties, additionalProperties, patternProperties, prefixItems, $ref } = schema
  const types = [type].flat()
  if (types.length > 0 && !types.some((type) => isOf(type, value))) return wrong(`must be ${types.join(' or ')}`)
  const constants = 'const' in schema ? [schema.const] : listFrom(schema.enum)
  if (constants.length > 0 && !constants.some((one) => canonical(one) === canonical(value)))
    return wrong(`must be ${constants.map((one) => JSON.stringify(one)).join(' or ')}`)
  const here = (schema: unknown) => misfits(schema, value, path, root)
  const forms = listFrom(schema.anyOf ?? schema.oneOf)
  if (forms.length > 0 && forms.every((form) => here(form).length > 0))
    return wrong(`matches none of the allowed forms ${JSON.stringify(forms)}`)
  const lacking = listFrom(required).filter((key) => isRecord(value) && !Object.hasOwn(value, String(key)))
  if (lacking.length > 0) return wrong(`lacks ${lacking.join(', ')}`)
  const schemaOf = (key: string) => {
    if (Array.isArray(value)) return listFrom(prefixItems)[Number(key)] ?? (prefixItems ? true : schema.items)
    return isRecord(properties) && Object.hasOwn(properties, key)
      ? properties[key]
      : patternProperties === undefined
        ? additionalProperties
        : true
  }
  const members = isObject(value) ? Object.entries(value) : []
  return [
    ...[...listFrom(schema.allOf), typeof $ref === 'string' && behind($ref, root)].flatMap((one) =>
      one ? here(one) : [],
    ),
    ...members.flatMap(([key, member]) => misfits(schemaOf(key), member, [...path, key], root)),
  ]
}

function listFrom(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isOf(type: unknown, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  return type === 'object' ? isRecord(value) : typeof value === type
}

/** Returns the part of the schema that a reference names. */
function behind(reference: string, root: unknown): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce((schema, name) => (isRecord(schema) ? schema[name] : undefined), root)
}
