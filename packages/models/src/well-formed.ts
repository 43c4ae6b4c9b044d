/** Replaces halves of surrogate pairs, which providers reject: a body with one of them is not valid JSON for them. */

/** The value with U+FFFD in place of each half, in texts and keys at any depth; the same value if there is none. */
export function wellFormed<Value>(value: Value): Value
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => wellFormed(item))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  if (!isPlain(value)) return value
  const entries = Object.entries(value)
  const written = entries.map(([key, member]) => [wellFormed(key), wellFormed(member)] as const)
  return written.every(([key, member], i) => key === entries[i]?.[0] && member === entries[i][1])
    ? value
    : Object.fromEntries(written)
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
