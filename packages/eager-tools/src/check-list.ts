/** What an option that names tools must be: for those whom types do not hold. */

import { ConfigError } from '@meanwhile/core'

/** Throws {@link ConfigError} unless it is a list of names, or nothing. */
export function checkList(option: string, names: readonly string[] | undefined): void {
  if (names === undefined || names === null) return
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}
