/** Checks of options that several middleware share. */

import { ConfigError, type Model, messageOf } from '@meanwhile/core'
import { isRecord, shownValue } from '@meanwhile/core/calls'
import { plainPath } from './file-path.ts'

/** @throws {ConfigError} An option is given and not a finite number of at least 0; the error names it. */
export function checkNumbers(options: Readonly<Record<string, number | undefined>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw new ConfigError(option, `must be 0 or a positive finite number, not ${shownValue(value)}`)
  }
}

/** @throws {ConfigError} An option is not a whole number of at least 0; the error names it. */
export function checkCounts(options: Readonly<Record<string, number>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (!Number.isInteger(value) || value < 0)
      throw new ConfigError(option, `must be 0 or a positive integer, not ${shownValue(value)}`)
  }
}

/** @throws {ConfigError} An option is given and not a function; the error names it. */
export function checkFunctions(options: Readonly<Record<string, unknown>>): void {
  for (const [option, value] of Object.entries(options))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(option, 'must be a function')
}

/** @throws {ConfigError} It is not a list of names. (A string would be read as a list of characters.) */
export function checkToolNames(option: string, names: readonly string[]): void {
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}

export function isModel(value: unknown): value is Model {
  return isRecord(value) && typeof value.stream === 'function'
}

/**
 * Returns the normalized form of a backend's path.
 *
 * @throws {ConfigError} The path is invalid or outside of the root; the error names the option.
 */
export function checkPath(option: string, path: string): string {
  try {
    return plainPath(path)
  } catch (cause) {
    throw Object.assign(new ConfigError(option, messageOf(cause)), { cause })
  }
}

/** The longest delay of a timer; with a longer one it fires at once. */
const LONGEST = 2 ** 31 - 1

/**
 * @throws {ConfigError} An option is given and is neither positive milliseconds nor `Infinity` for no limit; the error
 * names it.
 */
export function checkTimes(options: Readonly<Record<string, number | undefined>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || value === Number.POSITIVE_INFINITY) continue
    if (typeof value === 'number' && value > 0 && value <= LONGEST) continue
    throw new ConfigError(
      option,
      `must be milliseconds, more than 0 and at most ${LONGEST}, or Infinity, not ${shownValue(value)}`,
    )
  }
}
