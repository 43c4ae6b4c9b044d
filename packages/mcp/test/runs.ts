/** Runs of agents whose tools come from servers. */

import { collect, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentOptions, type AgentResult, createAgent, type ToolMessage, textOf } from '@meanwhile/core'
import { type McpOptions, mcp } from '../src/index.ts'

/** What the model has read of its calls. */
export function readIn(result: AgentResult | undefined): readonly string[] {
  const messages = result?.messages.filter((message): message is ToolMessage => message.role === 'tool') ?? []
  return messages.map((message) => textOf(message))
}

/** A run in which the model makes these calls in one step. `tools` are the definitions that it gets. */
export async function ran(options: McpOptions, calls: readonly ScriptStep[], more: Partial<AgentOptions> = {}) {
  await using servers = mcp(options)
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const agent = createAgent({ model, ...more, middleware: [servers, ...(more.middleware ?? [])] })
  const { result, error, events } = await collect(agent.stream('Go'))
  return { result, error, events, read: readIn(result), tools: model.requests[0]?.tools ?? [] }
}

/** The tools that an agent gets from these servers. */
export async function toolsOf(options: McpOptions, more: Partial<AgentOptions> = {}) {
  await using servers = mcp(options)
  const model = scriptedModel([respond(say('done'))])
  const result = await createAgent({ model, ...more, middleware: [servers] }).run('Go')
  const names = model.requests[0]?.tools?.map(({ name }) => name) ?? []
  return { names, warnings: result.warnings, tools: model.requests[0]?.tools ?? [] }
}
