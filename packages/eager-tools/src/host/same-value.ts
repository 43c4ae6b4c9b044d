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
  const copy: object = Object.create(Object.getPrototypeOf(value))
  for (const [key, member] of Object.entries(value))
    Object.defineProperty(copy, key, { value: copyOf(member), writable: true, enumerable: true, configurable: true })
  return copy
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
