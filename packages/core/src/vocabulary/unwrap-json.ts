/** Values that a model wrote as JSON text where the values themselves belong (qC34). */

import { isRecord, isShallow } from './json.ts'

type Path = readonly string[]

/** The value with the objects and lists at these paths taken out of their strings; the same value if there are none. */
export function unwrapJson(value: unknown, paths: readonly Path[]): unknown {
  return paths.reduce(unwrapAt, value)
}

function unwrapAt(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return typeof value === 'string' ? contained(value) : value
  if (!isRecord(value) && !Array.isArray(value)) return value
  const member: unknown = Object.hasOwn(value, key) ? value[key as keyof typeof value] : undefined
  const unwrapped = unwrapAt(member, rest)
  if (unwrapped === member) return value
  return Array.isArray(value) ? value.with(Number(key), unwrapped) : { ...value, [key]: unwrapped }
}

/** What the text holds, if that is an object or a list, and no deeper than arguments may be (G14). */
function contained(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && isShallow(value) ? value : text
  } catch {
    return text
  }
}
