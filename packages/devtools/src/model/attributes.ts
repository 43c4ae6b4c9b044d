/** Reads the attributes of spans. */

import type { Attributes } from '../span.ts'

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
  return typeof value === 'string' ? parsed(value) : value
}

// Writing JSON that is very deep takes more stack than there is.
const MOST_DEPTH = 100

/** Text that is not JSON, or is too deep, stays text. */
function parsed(value: string): unknown {
  try {
    const found: unknown = JSON.parse(value)
    return isDeeper(found, MOST_DEPTH) ? value : found
  } catch {
    return value
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
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
