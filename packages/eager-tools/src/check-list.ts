/** Checks options that name tools, for users without TypeScript. */

import { ConfigError } from '@meanwhile/core'

/** @throws {ConfigError} It is neither `undefined` nor a list of names. */
export function checkList(option: string, names: readonly string[] | undefined): void {
  if (names === undefined || names === null) return
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}

/** @throws {ConfigError} It is neither `undefined` nor a boolean. */
export function checkMayBeMissing({ mayBeMissing }: { readonly mayBeMissing?: boolean }): void {
  if (mayBeMissing !== undefined && typeof mayBeMissing !== 'boolean')
    throw new ConfigError('mayBeMissing', 'must be true or false')
}
