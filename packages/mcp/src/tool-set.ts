/** The tools of servers as a run has them: which, with which names and effects. */

import { ConfigError, type Tool } from '@meanwhile/core'
import type { McpDefinition } from './definition.ts'
import type { Drift } from './drift.ts'
import { McpDriftError } from './errors.ts'
import type { Listing } from './list-tools.ts'
import type { ListedTool } from './listed-tool.ts'
import { type Common, commonOf, mcpTool } from './mcp-tool.ts'
import type { Shared } from './options.ts'
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
  checkNames(
    servers.flatMap(({ listing }) => listing.tools),
    options,
  )
  const included = servers.map(({ listing }) => listing.tools.filter((tool) => isIncluded(tool.definition, options)))
  const all = included.flat()
  checkPins(all, options)
  const names = toolNames(all, taken, options.prefix).values()
  return servers.flatMap(({ way }, index) => {
    const common = commonOf(way, options)
    return (included[index] ?? []).map((tool) => sharedTool(tool, names.next().value ?? '', common))
  })
}

/** What is said about names in `include` and `exclude` that no server has. A server may have removed a tool, so that is not an error. */
export function unknownNames(
  servers: readonly ServerTools[],
  { include = [], exclude = [] }: Shared,
): readonly string[] {
  const tools = servers.flatMap(({ listing }) => listing.tools)
  const problems = {
    include: typeof include === 'function' ? undefined : unknownIn(include, tools),
    exclude: unknownIn(exclude, tools),
  }
  return Object.entries(problems).flatMap(([option, problem]) => (problem ? [`${option}: ${problem}`] : []))
}

/** Which of these names no server has, and which ones they have. */
function unknownIn(names: readonly string[], tools: readonly ListedTool[]): string | undefined {
  const unknown = new Set(names)
  for (const { name } of unknown.size > 0 ? tools : []) unknown.delete(name)
  if (unknown.size === 0) return undefined
  return `no server has ${[...unknown].join(', ')}. They have: ${tools.map(({ name }) => name).join(', ')}`
}

/** The tool of the last run, if it would be the same: a server may have very many. */
function sharedTool(listed: ListedTool, name: string, common: Common): Tool {
  const { last } = listed
  const { options } = common
  const effect = effectOf(listed.definition, options)
  if (last && last.name === name && last.effect === effect && last.timeout === options.timeout) return last
  const made = mcpTool(listed, name, effect, common)
  listed.last = made
  return made
}

function isIncluded(definition: McpDefinition, { include, exclude = [] }: Shared): boolean {
  // Its hash may not have been made yet, so no function may change it.
  const isWanted =
    typeof include === 'function' ? include(Object.freeze(definition)) : (include?.includes(definition.name) ?? true)
  return isWanted && !exclude.includes(definition.name)
}

/**
 * The effect of a tool. A tool for resources is a `read`, as the protocol says. `idempotentHint` is not `idempotent`: it says that a second equal call changes nothing more, and not that a call is
 * harmless whose response is then discarded.
 */
export function effectOf(definition: McpDefinition, { effects, trust }: Shared): NonNullable<Tool['effect']> {
  const { name, annotations } = definition
  const given = effects && Object.hasOwn(effects, name) ? effects[name] : undefined
  if (given !== undefined) return given
  const isRead = annotations.readOnlyHint === true && annotations.destructiveHint !== true
  const isBelieved = isRead && (trust === 'annotations' || RESOURCE_TOOLS.includes(definition))
  return isBelieved ? 'read' : 'external'
}

/** @throws {ConfigError} An effect or a pin would have no effect. */
function checkNames(tools: readonly ListedTool[], { effects = {}, pin = {} }: Shared): void {
  for (const [option, value] of Object.entries({ effects, pin })) {
    const problem = unknownIn(Object.keys(value), tools)
    if (problem) throw new ConfigError(option, problem)
  }
}

function checkPins(tools: readonly ListedTool[], { pin }: Shared): void {
  if (!pin) return
  const pinned = tools.filter(({ name }) => Object.hasOwn(pin, name))
  const changes = pinned.flatMap(({ server, name, info: { hash: now } }): Drift[] => {
    const before = pin[name]
    return before === undefined || before === now ? [] : [{ server, name, before, now }]
  })
  const [first] = changes
  if (first) throw new McpDriftError(first.server, changes)
}
