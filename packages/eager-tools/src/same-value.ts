/** Compares and copies the input of tools, which after the check by a schema may contain more than JSON. */

/** Whether two values are equal. Objects of unknown classes are equal only if they are the same object. */
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

/** The members in which two objects differ. Empty if one of the values is not an object. */
export function differingMembers(a: unknown, b: unknown): readonly string[] {
  if (!isObject(a) || !isObject(b)) return []
  const isSame = (key: string) =>
    Object.hasOwn(a, key) && Object.hasOwn(b, key) && sameValue(Reflect.get(a, key), Reflect.get(b, key))
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((key) => !isSame(key))
}

/**
 * Returns a deep copy, which a function can change without changing the original. Objects of unknown classes are not
 * copied.
 */
export function copyOf(value: unknown): unknown {
  if (!isObject(value)) return value
  if (value instanceof Date) return new Date(value)
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [copyOf(key), copyOf(member)]))
  if (value instanceof Set) return new Set([...value].map(copyOf))
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isPlain(value)) return value
  // Members are defined, not assigned, because one of them may be called `__proto__`.
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
