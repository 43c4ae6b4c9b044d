/** Names of tools in settings that no tool has. */

import { ConfigError } from '@meanwhile/core'
import { nearestName } from '@meanwhile/core/calls'
import type { Schemas } from './kept-input.ts'

/** The settings that name tools. */
export interface NamingSettings {
  readonly approval?: readonly string[]
  readonly independent?: readonly string[]
  readonly schemas?: Schemas
  /** Whether names that no tool has are allowed. */
  readonly mayBeMissing?: boolean
}

/** The names of tools, by the setting that contains them. */
export function namesIn({ approval = [], independent = [], schemas = {} }: NamingSettings): NamesBySetting {
  return { approval, independent, schemas: Object.keys(schemas) }
}

type NamesBySetting = Readonly<Record<'approval' | 'independent' | 'schemas', readonly string[]>>

/** @throws {ConfigError} It is neither `undefined` nor a boolean. */
export function checkMayBeMissing({ mayBeMissing }: Pick<NamingSettings, 'mayBeMissing'>): void {
  if (mayBeMissing !== undefined && typeof mayBeMissing !== 'boolean')
    throw new ConfigError('mayBeMissing', 'must be true or false')
}

/** @throws {ConfigError} A name in `approval`, `independent` or `schemas` is not the name of a tool. */
export function checkNames(settings: NamingSettings, tools: readonly string[]): void {
  if (settings.mayBeMissing) return
  const known = new Set(tools)
  for (const [setting, names] of Object.entries(namesIn(settings))) {
    const unknown = names.find((name) => !known.has(name))
    if (unknown !== undefined) throw new ConfigError(setting, `${unknown} ${unknownTool(unknown, tools)}`)
  }
}

/** The message for a name that is not the name of a tool. */
export function unknownTool(name: string, tools: readonly string[]): string {
  const nearest = nearestName(name, Object.fromEntries(tools.map((tool) => [tool, ''])))
  const hint = nearest ? `did you mean ${nearest}?` : `the tools are: ${tools.join(', ') || 'none'}.`
  return `is not the name of a tool; ${hint} If it may be missing, set mayBeMissing: true`
}
