/** The tools of servers as a run has them: which, with which names and effects. */

import { ConfigError, type Tool } from '@meanwhile/core'
import type { McpDefinition } from './definition.ts'
import type { Drift } from './drift.ts'
import { McpDriftError } from './errors.ts'
import type { Listing } from './list-tools.ts'
import type { ListedTool } from './listed-tool.ts'
import { mcpTool, type ToolOf } from './mcp-tool.ts'
import { fullLimits, type Shared } from './options.ts'
import { RESOURCE_TOOLS } from './resources.ts'
import { type Named, toolNames } from './tool-names.ts'
import type { Way } from './way.ts'

/** A server and its tools. */
export interface ServerTools {
  readonly way: Way
  readonly listing: Listing
}

/** A tool of a server, by the server's name of it. */
interface Listed extends Named {
  readonly way: Way
  readonly listed: ListedTool
}

/**
 * Makes the tools.
 *
 * @throws {ConfigError} Names clash, or an option names a tool that no server has.
 * @throws {McpDriftError} A pinned tool has another definition.
 */
export function toolSet(servers: readonly ServerTools[], taken: readonly string[], options: Shared): readonly Tool[] {
  const all = servers.flatMap(({ way, listing }) =>
    listing.tools.map((listed): Listed => ({ way, listed, server: way.server, name: listed.definition.name })),
  )
  checkNames(all, options)
  const included = all.filter(({ listed }) => isIncluded(listed.definition, options))
  checkPins(included, options)
  const names = toolNames(included, taken, options.prefix)
  const limits = fullLimits(options.limits)
  return included.map(({ way, listed }, index) => {
    const effect = effectOf(listed.definition, options)
    return sharedTool({ way, listed, name: names[index] ?? '', effect, options, limits })
  })
}

/** The tools that the last run had. */
const lastTools = new WeakMap<ListedTool, Tool>()

/** The tool of the last run, if it would be the same: a server may have very many. */
function sharedTool(of: ToolOf): Tool {
  const { listed, name, effect, options } = of
  const last = lastTools.get(listed)
  if (last && last.name === name && last.effect === effect && last.timeout === options.timeout) return last
  const made = mcpTool(of)
  lastTools.set(listed, made)
  return made
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
  if (given !== undefined) return given
  const isRead = annotations.readOnlyHint === true && annotations.destructiveHint !== true
  const isBelieved = isRead && (trust === 'annotations' || RESOURCE_TOOLS.includes(definition))
  return isBelieved ? 'read' : 'external'
}

/** @throws {ConfigError} An effect or a pin would have no effect. */
function checkNames(tools: readonly Listed[], { effects = {}, pin = {} }: Shared): void {
  for (const [option, value] of Object.entries({ effects, pin })) {
    const unknown = new Set(Object.keys(value))
    for (const { name } of tools) unknown.delete(name)
    if (unknown.size === 0) continue
    const names = tools.map(({ name }) => name)
    throw new ConfigError(option, `no server has ${[...unknown].join(', ')}. They have: ${names.join(', ')}`)
  }
}

function checkPins(tools: readonly Listed[], { pin }: Shared): void {
  if (!pin) return
  const changes = tools.flatMap(({ server, name, listed: { hash: now } }): Drift[] => {
    const before = Object.hasOwn(pin, name) ? pin[name] : undefined
    return before === undefined || before === now ? [] : [{ server, name, before, now }]
  })
  const [first] = changes
  if (first) throw new McpDriftError(first.server, changes)
}
