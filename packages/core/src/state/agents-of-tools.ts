/** Which agent a tool runs. It is known of each tool that `agentTool` makes, and of its copies: they keep its function. */

import type { AgentConfig } from '../vocabulary/agent-config.ts'
import type { Tool } from '../vocabulary/tool.ts'

type Execute = NonNullable<Tool['execute']>

const agents = new WeakMap<Execute, AgentConfig>()

export function runsAgent(execute: Execute, agent: AgentConfig): Execute {
  agents.set(execute, agent)
  return execute
}

export function agentRunBy({ execute }: Tool): AgentConfig | undefined {
  return execute && agents.get(execute)
}
