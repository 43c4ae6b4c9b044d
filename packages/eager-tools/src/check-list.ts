/** Checks options that are lists of tool names, for users without TypeScript. */

import { ConfigError } from '@meanwhile/core'

/** @throws {ConfigError} It is neither `undefined` nor a list of names. */
export function checkList(option: string, names: readonly string[] | undefined): void {
  if (names === undefined) return
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}
