/** Checks options: for what types cannot say, and for callers without types. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ConfigError } from './errors.ts'
import { isRecord } from './json.ts'

/** The known options, each with the words that other libraries have for it, separated by spaces. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: string }

/**
 * Checks that options are an object, or are not given, and that each is a known one: a misspelt option would do nothing. For
 * factories of middleware, too.
 *
 * @param owner Whose options they are, in words: `retryModel`.
 * @param of Stands before the name of an option in {@link ConfigError.option}: `budget.`
 * @throws {ConfigError} It names the first unknown option, and the nearest known one.
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: Options | undefined,
  names: OptionNames<Options>,
  of = '',
): void {
  if (options === undefined) return
  if (!isRecord(options)) throw new ConfigError(of.slice(0, -1) || 'options', 'must be an object')
  const known: Readonly<Record<string, string>> = names
  const unknown = Object.keys(options).find((name) => options[name] !== undefined && !Object.hasOwn(known, name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown.slice(0, LONGEST_NAME), known)
  const all = Object.keys(known)
  const others = all.length === 1 ? `the only option is ${all[0]}` : `there are ${all.join(', ')}`
  const hint = nearest ? `did you mean ${nearest}?` : others
  throw new ConfigError(of + unknown.slice(0, LONGEST_NAME), `is no option of ${owner}; ${hint}`)
}

const LONGEST_NAME = 64

/** By its own name, or by another library's word for it; none if nearly half of the letters are others. */
export function nearestName(given: string, names: Readonly<Record<string, string>>): string | undefined {
  let nearest: string | undefined
  let least = 0.45
  for (const [name, words] of Object.entries(names)) {
    for (const word of [name, ...words.split(' ')]) {
      const share = distance(given.toLowerCase(), word.toLowerCase()) / Math.max(given.length, word.length)
      if (!(share < least)) continue // both may be empty
      least = share
      nearest = name
    }
  }
  return nearest
}

/** How many letters are added, left out or changed (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let line = 0; line < a.length; line++) {
    const next = [line + 1]
    for (let column = 0; column < b.length; column++) {
      const changed = (row[column] ?? 0) + (a[line] === b[column] ? 0 : 1)
      next.push(Math.min(changed, 1 + (row[column + 1] ?? 0), 1 + (next[column] ?? 0)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** Throws {@link ConfigError} naming the first that is given and is of another type; `of` goes before its name. */
export function checkTypes(type: 'string' | 'function', options: Readonly<Record<string, unknown>>, of = ''): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined && value !== null && typeof value !== type)
      throw new ConfigError(of + option, `must be a ${type}`)
}

/** Throws {@link ConfigError} unless it is a signal, or none. */
export function checkSignal(option: string, signal: AbortSignal | undefined): void {
  if (signal && typeof signal.addEventListener !== 'function') throw new ConfigError(option, 'must be an AbortSignal')
}

/** Throws {@link ConfigError} unless it is an object, or none is given: that, and not a list, is what has members with names. */
export function checkRecord(option: string, value: unknown): void {
  if (value !== undefined && value !== null && !isRecord(value)) throw new ConfigError(option, 'must be an object')
}

/** Throws {@link ConfigError} unless it is a Standard Schema, or none. Some libraries make functions of them. */
export function checkSchema(option: string, schema: StandardSchemaV1 | undefined): void {
  if (schema && typeof schema['~standard']?.validate !== 'function')
    throw new ConfigError(option, 'must be a Standard Schema, such as zod makes')
}

/** Throws {@link ConfigError} unless it is a time that can be waited. */
export function checkTime(option: string, value: number): void {
  mustBe('a number from 0 on', option, value, value >= 0)
}

/** Throws {@link ConfigError} unless it is a number of things, of which there must be one. */
export function checkCount(option: string, value: number): void {
  mustBe('a positive integer', option, value, isWhole(value) && value > 0)
}

/** Throws {@link ConfigError} unless it is how many there may be. */
export function checkLimit(option: string, value: number): void {
  mustBe('a whole number from 0 on', option, value, isWhole(value) && value >= 0)
}

function isWhole(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || Number.isInteger(value)
}

/** Throws {@link ConfigError} unless it is a number, of which this holds. */
export function mustBe(what: string, option: string, value: number, holds: boolean): void {
  if (typeof value !== 'number' || !holds)
    throw new ConfigError(option, `must be ${what}, or Infinity, not ${String(value)}`)
}
