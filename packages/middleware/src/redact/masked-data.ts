/** Masks secrets in data: in texts, keys and numbers. */

import type { Masker } from './masker.ts'

const CIRCLE = '[circular]'
const TOO_DEEP = '[too deep]'
const DEPTH = 500

/**
 * Masks JSON, or values that are converted to JSON. Returns the same value if it contains no secret; levels deeper than
 * 500 are omitted.
 */
export function maskedData(masker: Masker, value: unknown): unknown {
  return masked(masker, value, new Map(), 0)
}

function masked(masker: Masker, value: unknown, known: Map<object, unknown>, depth: number): unknown {
  if (typeof value === 'string') return masker.mask(value)
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = masker.mask(String(value))
    return text === String(value) ? value : text
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  if (known.has(value)) return known.get(value)
  known.set(value, CIRCLE)
  const data = depth < DEPTH ? maskedObject(masker, value, known, depth + 1) : TOO_DEEP
  known.set(value, data)
  return data
}

function maskedObject(masker: Masker, value: object, known: Map<object, unknown>, depth: number): unknown {
  if ('toJSON' in value && typeof value.toJSON === 'function') return masked(masker, value.toJSON(), known, depth)
  if (Array.isArray(value)) return mapped(value, (item) => masked(masker, item, known, depth))
  const members = new Map<string, unknown>()
  let same = true
  for (const [key, member] of Object.entries(value)) {
    const [name, data] = [freeName(masker.mask(key), members), masked(masker, member, known, depth)]
    same &&= name === key && data === member
    members.set(name, data)
  }
  return same ? value : Object.fromEntries(members)
}

/** Two keys may have the same mask. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name
  for (let count = 2; taken.has(free); count++) free = `${name} ${count}`
  return free
}

/** Returns the same list if no item changes. */
export function mapped<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}
