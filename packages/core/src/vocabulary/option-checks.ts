/** Checks options at run time, for callers without types and for what types cannot express. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ConfigError } from './errors.ts'
import { isRecord } from './json.ts'

/** The known options, each with the names that other libraries have for it, separated by spaces. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: string }

/**
 * Checks that options are an object or undefined, and that each option is known: a misspelt option would have no effect. Middleware factories can use
 * it, too.
 *
 * @param owner - The function that has the options, for the message: `retryModel`.
 * @param options - The options to check.
 * @param names - The names of the known options.
 * @param of - Prefix of the name in {@link ConfigError.option}: `budget.`
 * @throws {ConfigError} An option is unknown. The error names the first one and the nearest known option.
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: Options | undefined,
  names: OptionNames<Options>,
  of = '',
): void {
  if (options === undefined) return
  if (!isRecord(options))
    throw new ConfigError(of.slice(0, -1) || 'options', `must be an object with the options of ${owner}`)
  const known: Readonly<Record<string, string>> = names
  const unknown = Object.keys(options).find((name) => options[name] !== undefined && !Object.hasOwn(known, name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown.slice(0, LONGEST_NAME), known)
  const hint = nearest ? `did you mean ${nearest}?` : `the options are: ${Object.keys(known).join(', ')}`
  throw new ConfigError(of + unknown.slice(0, LONGEST_NAME), `is not an option of ${owner}; ${hint}`)
}

const LONGEST_NAME = 64

/** Finds the option with the nearest name, including the names that other libraries use. Returns `undefined` if nearly half of the letters differ. */
export function nearestName(given: string, names: Readonly<Record<string, string>>): string | undefined {
  let nearest: string | undefined
  let least = 0.45
  for (const [name, words] of Object.entries(names)) {
    for (const word of [name, ...words.split(' ')]) {
      const share = distance(given.toLowerCase(), word.toLowerCase()) / Math.max(given.length, word.length)
      // It is NaN if both names are empty.
      if (share < least) [least, nearest] = [share, name]
    }
  }
  return nearest
}

/** Counts the letters that differ: added, removed or changed (Levenshtein distance). */
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

type Type = 'string' | 'function' | 'boolean'

/** @throws {ConfigError} One of these options has another type; `of` is a prefix of its name. */
export function checkTypes<All>(type: Type, options: All, names: readonly (keyof All & string)[], of = ''): void {
  for (const name of names) {
    const value = options[name] ?? undefined
    if (value !== undefined && typeof value !== type) throw new ConfigError(of + name, `must be a ${type}`)
  }
}

/** @throws {ConfigError} The value is neither an `AbortSignal` nor undefined. */
export function checkSignal(option: string, signal: AbortSignal | undefined): void {
  if (signal && typeof signal.addEventListener !== 'function') throw new ConfigError(option, 'must be an AbortSignal')
}

/** @throws {ConfigError} The value is neither an object nor undefined. A list is not accepted. */
export function checkRecord(option: string, value: unknown): void {
  if (!isRecord(value ?? {})) throw new ConfigError(option, 'must be an object')
}

/** @throws {ConfigError} The value is neither a Standard Schema nor undefined. A schema may be a function, as in some libraries. */
export function checkSchema(option: string, schema: StandardSchemaV1 | undefined): void {
  if (schema && typeof schema['~standard']?.validate !== 'function')
    throw new ConfigError(option, 'must be a Standard Schema, such as a zod schema')
}

/** Throws a {@link ConfigError} unless the value, a time, is a number of at least 0, or `Infinity`. */
export function checkTime(option: string, value: number): void {
  mustBe('a number of at least 0', option, value, value >= 0)
}

/** Throws a {@link ConfigError} unless the value, a number of things, is a positive integer, or `Infinity`. */
export function checkCount(option: string, value: number): void {
  mustBe('a positive integer', option, value, isWhole(value) && value > 0)
}

/** @throws {ConfigError} The value is not an integer of at least 0, or `Infinity`. */
export function checkLimit(option: string, value: number): void {
  mustBe('an integer of at least 0', option, value, isWhole(value) && value >= 0)
}

function isWhole(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || Number.isInteger(value)
}

/** @throws {ConfigError} The value is not a number, or `holds` is false. */
export function mustBe(what: string, option: string, value: number, holds: boolean): void {
  if (typeof value !== 'number' || !holds)
    throw new ConfigError(option, `must be ${what}, or Infinity, not ${shownValue(value)}`)
}

/** Returns the wrong value of an option, for the message of its error. A text is quoted, so that it does not look like a number, and a long one is cut. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > LONGEST_NAME ? `${value.slice(0, LONGEST_NAME)}…` : value}'`
  return Object(value) === value ? `${typeof value === 'function' ? 'a' : 'an'} ${typeof value}` : String(value)
}
