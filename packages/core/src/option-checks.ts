/** What an option must be: for what types cannot say, and for those whom they do not hold. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ConfigError } from './errors.ts'
import { isRecord } from './json.ts'

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
