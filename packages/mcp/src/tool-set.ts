/** The tools of servers as a run has them: which, with which names and effects. */

import { ConfigError, type Tool } from '@meanwhile/core'
import { hashOf, type McpDefinition } from './definition.ts'
import type { Drift } from './drift.ts'
import { McpDriftError } from './errors.ts'
import type { Way } from './link.ts'
import type { Listing } from './list-tools.ts'
import { mcpTool } from './mcp-tool.ts'
import type { Shared } from './options.ts'
import type { Sdk } from './sdk.ts'
import { toolNames } from './tool-names.ts'

/** A server and its tools. */
export interface Listed {
  readonly way: Way
  readonly listing: Listing
  readonly sdk: Sdk
}

/**
 * Makes the tools.
 *
 * @throws {ConfigError} Names clash, or an option names a tool that no server has.
 * @throws {McpDriftError} A pinned tool has another definition.
 */
export function toolSet(listed: readonly Listed[], taken: readonly string[], options: Shared): readonly Tool[] {
  const all = listed.flatMap(({ way, listing, sdk }) => listing.tools.map((definition) => ({ way, definition, sdk })))
  checkNames(
    all.map(({ definition }) => definition.name),
    options,
  )
  const included = all.filter(({ definition }) => isIncluded(definition, options))
  checkPins(included, options)
  const names = toolNames(
    included.map(({ way, definition }) => ({ server: way.server, name: definition.name })),
    taken,
    options.prefix,
  )
  return included.map(({ way, definition, sdk }, index) => {
    return mcpTool({ way, definition, name: names[index] ?? '', effect: effectOf(definition, options), options, sdk })
  })
}

function isIncluded(definition: McpDefinition, { include, exclude = [] }: Shared): boolean {
  const isWanted = typeof include === 'function' ? include(definition) : (include?.includes(definition.name) ?? true)
  return isWanted && !exclude.includes(definition.name)
}

/**
 * The effect of a tool. `idempotentHint` is not `idempotent`: it says that a second equal call changes nothing more, and not that a call is
 * harmless whose response is then discarded.
 */
export function effectOf(
  { name, annotations }: McpDefinition,
  { effects = {}, trust }: Shared,
): NonNullable<Tool['effect']> {
  const given = Object.hasOwn(effects, name) ? effects[name] : undefined
  if (typeof given === 'function') return (input) => given(input as Record<string, unknown>)
  if (given !== undefined) return given
  const isRead = annotations.readOnlyHint === true && annotations.destructiveHint !== true
  return trust === 'annotations' && isRead ? 'read' : 'external'
}

/** @throws {ConfigError} An effect or a pin would have no effect. */
function checkNames(names: readonly string[], { effects = {}, pin = {} }: Shared): void {
  for (const [option, value] of Object.entries({ effects, pin })) {
    const unknown = Object.keys(value).filter((name) => !names.includes(name))
    if (unknown.length > 0)
      throw new ConfigError(option, `no server has ${unknown.join(', ')}. They have: ${names.join(', ')}`)
  }
}

function checkPins(tools: readonly { readonly way: Way; readonly definition: McpDefinition }[], { pin }: Shared): void {
  if (!pin) return
  const changes = tools.flatMap(({ way, definition }): Drift[] => {
    const before = Object.hasOwn(pin, definition.name) ? pin[definition.name] : undefined
    const now = hashOf(definition)
    return before === undefined || before === now ? [] : [{ server: way.server, name: definition.name, before, now }]
  })
  const [first] = changes
  if (first) throw new McpDriftError(first.server, changes)
}
