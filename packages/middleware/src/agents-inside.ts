/** The agents that the tools of a run start. Options of the run's middleware do not reach the tools of these agents. */

import type { Middleware, Tool } from '@meanwhile/core'
import { agentRunBy, findTool } from '@meanwhile/core/calls'

/** An agent inside. */
export interface AgentInside {
  /** Its name, or else that of the tool that starts it. */
  readonly name: string
  readonly middleware: readonly Middleware[]
}

/** Returns the agents inside, to every depth, that have a tool with this name or alias among the tools of their options. */
export function agentsWith(name: string, tools: readonly Tool[]): readonly AgentInside[] {
  return tools.flatMap((tool) => {
    const agent = agentRunBy(tool)
    if (!agent) return []
    const inside = agentsWith(name, agent.setup.tools)
    if (!findTool(agent.setup.tools, name)) return inside
    return [{ name: agent.name ?? tool.name, middleware: agent.middleware }, ...inside]
  })
}
