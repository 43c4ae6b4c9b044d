/** What options must be: for those whom types do not hold. */

import { ConfigError } from '@meanwhile/core'

/** Throws {@link ConfigError} unless it is an object whose members all have a name that there is; `of` goes before theirs. */
export function checkNames(options: object, names: Readonly<Record<string, true>>, of = ''): void {
  const what = of === '' ? 'options' : of.slice(0, -1)
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new ConfigError(what, 'must be an object')
  const [unknown] = Object.keys(options).filter((name) => !Object.hasOwn(names, name))
  if (unknown !== undefined)
    throw new ConfigError(of + unknown, `is no option: there are ${Object.keys(names).join(', ')}`)
}

/** Throws {@link ConfigError} unless it is a list of names, or nothing. */
export function checkList(option: string, names: readonly string[] | undefined): void {
  if (names === undefined || names === null) return
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
    throw new ConfigError(option, 'must be a list of tool names')
}
