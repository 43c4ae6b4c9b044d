/** Warns about names in `effects` and in the settings that are probably misspelt. */

import { nearestName } from '@meanwhile/core/calls'
import type { Tool } from '@openai/agents'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'
import { namesIn } from '../unknown-names.ts'
import type { AnyAgent } from './agent-run-options.ts'

export interface NamesOptions {
  /** The agent that a conversation begins with. */
  readonly agent: AnyAgent
  readonly tools: readonly Tool[]
  readonly declared: Declared
  readonly loop: EagerLoop
}

/**
 * A runner may run agents that have nothing to do with each other. So a name that none of these agents has is only
 * reported if it resembles the name of a tool that is not itself in the list.
 */
export function warnOfNames({ agent, tools, declared, loop }: NamesOptions): void {
  if (loop.settings.mayBeMissing) return
  const agents = reachable(agent)
  // The tools of an MCP server of another agent cannot be known.
  if ([...agents].some((other) => other !== agent && other.mcpServers.length > 0)) return
  const names = new Set([tools, ...[...agents].map((one) => one.tools)].flat().map(({ name }) => name))
  const warn = (list: readonly string[], where: (name: string) => string) => {
    const other = Object.fromEntries([...names].filter((name) => !list.includes(name)).map((name) => [name, '']))
    for (const name of list) {
      const nearest = names.has(name) ? undefined : nearestName(name, other)
      if (nearest) loop.warnOnce('unknown-tool', `${where(name)} is not the name of a tool; did you mean ${nearest}?`)
    }
  }
  warn([...declared.keys()], (name) => `effects.${name}`)
  for (const [setting, list] of Object.entries(namesIn(loop.settings))) warn(list, (name) => `${setting}: ${name}`)
}

/** An agent and all agents it can hand off to. */
function reachable(agent: AnyAgent, found: Set<AnyAgent> = new Set()): Set<AnyAgent> {
  if (found.has(agent)) return found
  found.add(agent)
  for (const handoff of agent.handoffs) reachable('agent' in handoff ? handoff.agent : handoff, found)
  return found
}
