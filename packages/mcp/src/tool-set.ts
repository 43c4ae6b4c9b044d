/** The tools of servers as a run has them: which, with which names and effects. */

import { ConfigError, type Tool } from '@meanwhile/core'
import type { McpDefinition } from './definition.ts'
import type { Drift } from './drift.ts'
import { McpDriftError } from './errors.ts'
import type { Listing } from './list-tools.ts'
import type { ListedTool } from './listed-tool.ts'
import { mcpTool } from './mcp-tool.ts'
import { fullLimits, type Shared } from './options.ts'
import { RESOURCE_TOOLS } from './resources.ts'
import { toolNames } from './tool-names.ts'
import type { Way } from './way.ts'

/** A server and its tools. */
export interface ServerTools {
  readonly way: Way
  readonly listing: Listing
}

/**
 * Makes the tools.
 *
 * @throws {ConfigError} Names clash, or an option names a tool that no server has.
 * @throws {McpDriftError} A pinned tool has another definition.
 */
export function toolSet(servers: readonly ServerTools[], taken: readonly string[], options: Shared): readonly Tool[] {
  const all = servers.flatMap(({ way, listing }) => listing.tools.map((listed) => ({ way, listed })))
  checkNames(
    all.map(({ listed }) => listed.definition.name),
    options,
  )
  const included = all.filter(({ listed }) => isIncluded(listed.definition, options))
  checkPins(included, options)
  const names = toolNames(
    included.map(({ way, listed }) => ({ server: way.server, name: listed.definition.name })),
    taken,
    options.prefix,
  )
  const limits = fullLimits(options.limits)
  return included.map(({ way, listed }, index) => {
    const effect = effectOf(listed.definition, options)
    return mcpTool({ way, listed, name: names[index] ?? '', effect, options, limits })
  })
}

function isIncluded(definition: McpDefinition, { include, exclude = [] }: Shared): boolean {
  const isWanted = typeof include === 'function' ? include(definition) : (include?.includes(definition.name) ?? true)
  return isWanted && !exclude.includes(definition.name)
}

/**
 * The effect of a tool. A tool for resources is a `read`, as the protocol says. `idempotentHint` is not `idempotent`: it says that a second equal call changes nothing more, and not that a call is
 * harmless whose response is then discarded.
 */
export function effectOf(definition: McpDefinition, { effects = {}, trust }: Shared): NonNullable<Tool['effect']> {
  const { name, annotations } = definition
  const given = Object.hasOwn(effects, name) ? effects[name] : undefined
  if (typeof given === 'function') return (input) => given(input as Record<string, unknown>)
  if (given !== undefined) return given
  const isRead = annotations.readOnlyHint === true && annotations.destructiveHint !== true
  const isBelieved = trust === 'annotations' || RESOURCE_TOOLS.includes(definition)
  return isBelieved && isRead ? 'read' : 'external'
}

/** @throws {ConfigError} An effect or a pin would have no effect. */
function checkNames(names: readonly string[], { effects = {}, pin = {} }: Shared): void {
  const has = new Set(names)
  for (const [option, value] of Object.entries({ effects, pin })) {
    const unknown = Object.keys(value).filter((name) => !has.has(name))
    if (unknown.length > 0)
      throw new ConfigError(option, `no server has ${unknown.join(', ')}. They have: ${names.join(', ')}`)
  }
}

interface Included {
  readonly way: Way
  readonly listed: ListedTool
}

function checkPins(tools: readonly Included[], { pin }: Shared): void {
  if (!pin) return
  const changes = tools.flatMap(({ way, listed }): Drift[] => {
    const { definition, hash: now } = listed
    const before = Object.hasOwn(pin, definition.name) ? pin[definition.name] : undefined
    return before === undefined || before === now ? [] : [{ server: way.server, name: definition.name, before, now }]
  })
  const [first] = changes
  if (first) throw new McpDriftError(first.server, changes)
}
