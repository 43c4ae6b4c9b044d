/** Reads the attributes of spans. */

import type { Attributes, Value } from '../span.ts'

/** The first of these attributes that is a text. */
export function text(attributes: Attributes, ...names: readonly string[]): string | undefined {
  return names.map((name) => attributes[name]).find((value) => typeof value === 'string' && value !== '') as
    | string
    | undefined
}

/** The first of these attributes that is a number. */
export function number(attributes: Attributes, ...names: readonly string[]): number | undefined {
  return names.map((name) => attributes[name]).find((value) => typeof value === 'number' && Number.isFinite(value)) as
    | number
    | undefined
}

/** The first of these attributes, read as JSON if it is JSON. */
export function content(attributes: Attributes, ...names: readonly string[]): unknown {
  const value = names.map((name) => attributes[name]).find((given) => given !== undefined && given !== null)
  return parsed(value)
}

export function parsed(value: Value): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** The members of an object; none if it is something else. */
export function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Without the members that are `undefined`. */
export function present<Members extends object>(
  all: Members,
): { [K in keyof Members]: Exclude<Members[K], undefined> } {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as {
    [K in keyof Members]: Exclude<Members[K], undefined>
  }
}
