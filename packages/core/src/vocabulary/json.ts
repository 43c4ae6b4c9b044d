/** Checks that a value is JSON when it is set, not when it is saved. */

import { DEEPEST, extentOf, isObject, LONGEST } from './json-text.ts'
import type { Json } from './message.ts'

/** Returns the value. Throws a `TypeError` with the path if it is not JSON, deeper than 512 levels, or longer than 64 Mi characters. */
export function asJson(value: unknown, what: string): Json {
  check(value, what, DEEPEST, new Map())
  if (extentOf(value).characters > LONGEST) throw new TypeError(`${what} is longer than ${LONGEST} characters`)
  return value as Json
}

/** Returns a copy of a JSON value, which may be a proxy of a user's library. Throws what {@link asJson} throws. */
export function copiedJson(value: unknown, what: string): Json {
  const json = asJson(value, what)
  return typeof json === 'string' ? json : (JSON.parse(JSON.stringify(json)) as Json)
}

/** Whether a value is nested no deeper than {@link asJson} allows: then recursive code can read it. */
export function isShallow(value: unknown): boolean {
  return extentOf(value).levels <= DEEPEST
}

/** Whether a value is an object and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/** Whether a value is a list or a plain object. */
export function isPlain(value: unknown): value is object {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** `passed`: the objects that are JSON, with the depth that was left below them. An object that occurs several times is checked once. */
function check(value: unknown, path: string, depth: number, passed: Map<object, number>): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  if (typeof value !== 'object')
    throw new TypeError(`${path} is not JSON: ${typeof value === 'number' ? String(value) : typeof value}`)
  if (depth === 0) throw new TypeError(`${path.slice(0, 80)}… is nested deeper than ${DEEPEST} levels`)
  if ((passed.get(value) ?? DEEPEST + 1) <= depth) return
  passed.set(value, depth)
  if ('toJSON' in value) throw new TypeError(`${path} is not JSON: it has a toJSON`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) check(value[i], `${path}[${i}]`, depth - 1, passed)
    return
  }
  if (!isPlain(value)) throw new TypeError(`${path} is not JSON: an object of a class`)
  for (const [key, member] of Object.entries(value)) check(member, `${path}.${key}`, depth - 1, passed)
}
