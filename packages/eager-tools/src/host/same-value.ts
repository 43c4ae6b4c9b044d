/** Whether a tool would get the same values: what a schema has made of arguments may be no JSON. */

/** Values of a kind that is not known here are never the same, unless they are one object. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b) || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Date) return b instanceof Date && Object.is(a.getTime(), b.getTime())
  if (a instanceof Map || a instanceof Set) return sameValue([...a], [...Object(b)])
  if (!isPlain(a)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameValue(Reflect.get(a, key), Reflect.get(b, key)))
  )
}

/** A copy that a function which changes its input does not reach. Values of a kind that is not known here are not copied. */
export function copyOf(value: unknown): unknown {
  if (!isObject(value)) return value
  if (value instanceof Date) return new Date(value)
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [copyOf(key), copyOf(member)]))
  if (value instanceof Set) return new Set([...value].map(copyOf))
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isPlain(value)) return value
  // Each member is defined, not assigned: one of them may be called `__proto__`.
  const copy: object = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]))
  return Object.getPrototypeOf(value) === null ? Object.setPrototypeOf(copy, null) : copy
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
