/** What JSON can hold, checked where it is set, not when it is saved. */

import { DEEPEST, extentOf, LONGEST } from './json-text.ts'
import type { Json } from './message.ts'

/**
 * Gives the value back, as JSON.
 *
 * @throws {TypeError} It is not JSON, or nested deeper than 512 levels; the message names the path. It is longer than 64 Mi characters.
 */
export function asJson(value: unknown, what: string): Json {
  check(value, what, DEEPEST, new Map())
  if (extentOf(value).characters > LONGEST) throw new TypeError(`${what} is longer than ${LONGEST} characters`)
  return value as Json
}

/** Whether a value is nested no deeper than what {@link asJson} lets pass: what reads it recursively can. */
export function isShallow(value: unknown): boolean {
  return extentOf(value).levels <= DEEPEST
}

/** An object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list, or an object of no class. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** `passed`: what was found to be JSON, and how many levels it might have: what is shared is not looked at again for each path to it. */
function check(value: unknown, path: string, depth: number, passed: Map<object, number>): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  if (typeof value !== 'object') throw new TypeError(`${path} is no JSON: ${nameOf(value)}`)
  if (depth === 0) throw new TypeError(`${path.slice(0, 80)}… is nested deeper than ${DEEPEST} levels`)
  if ((passed.get(value) ?? DEEPEST + 1) <= depth) return
  passed.set(value, depth)
  if ('toJSON' in value) throw new TypeError(`${path} is no JSON: it has a toJSON`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) check(value[i], `${path}[${i}]`, depth - 1, passed)
    return
  }
  if (!isPlain(value)) throw new TypeError(`${path} is no JSON: an object of a class`)
  for (const [key, member] of Object.entries(value)) check(member, `${path}.${key}`, depth - 1, passed)
}

function nameOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}
