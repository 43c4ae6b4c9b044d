/** What the options of more than one middleware must be. */

import { ConfigError, type Model, messageOf } from '@meanwhile/core'
import { plainPath } from './file-path.ts'
import { isRecord } from './is-record.ts'

/** Throws {@link ConfigError} naming the first that is given and no finite number from 0 on. */
export function checkNumbers(options: Readonly<Record<string, number | undefined>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw new ConfigError(option, `must be 0 or a positive finite number, not ${value}`)
  }
}

/** Throws {@link ConfigError} naming the first that is no whole number from 0 on. */
export function checkCounts(options: Readonly<Record<string, number>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (!Number.isInteger(value) || value < 0)
      throw new ConfigError(option, `must be 0 or a positive integer, not ${value}`)
  }
}

/** Throws {@link ConfigError} naming the first that is given and no function. */
export function checkFunctions(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(option, 'must be a function')
}

/** Throws {@link ConfigError} unless it is a list of names: a text would name each part of itself. */
export function checkToolNames(option: string, names: readonly string[]): void {
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}

export function isModel(value: unknown): value is Model {
  return isRecord(value) && typeof value.stream === 'function'
}

/** The one way to write a path of a backend. Throws {@link ConfigError} naming the option if it leads out of the root, or is none. */
export function checkPath(option: string, path: string): string {
  try {
    return plainPath(path)
  } catch (cause) {
    throw Object.assign(new ConfigError(option, messageOf(cause)), { cause })
  }
}

/** The longest time a timer takes; beyond it, it fires at once. */
const LONGEST = 2 ** 31 - 1

/** Throws {@link ConfigError} naming the first that is given and no time to wait for: positive milliseconds, or `Infinity` for none. */
export function checkTimes(options: Readonly<Record<string, number | undefined>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || value === Number.POSITIVE_INFINITY) continue
    if (typeof value === 'number' && value > 0 && value <= LONGEST) continue
    throw new ConfigError(option, `must be milliseconds, more than 0 and at most ${LONGEST}, or Infinity, not ${value}`)
  }
}
