/** Runs an agent whose model makes the given calls, and collects what it reads. */

import { type Collected, collect, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  type AgentResult,
  createAgent,
  type Middleware,
  type Tool,
  type ToolMessage,
  textOf,
} from '@meanwhile/core'

export interface ToolResults extends Collected<AgentEvent, AgentResult> {
  readonly messages: readonly ToolMessage[]
  /** The text of each message, in order; error results begin with `error: `. */
  readonly texts: readonly string[]
}

/** Runs an agent through these steps, each a list of calls, and an answer. */
export async function toolResults(
  middleware: readonly Middleware[],
  steps: readonly (readonly ScriptStep[])[],
  tools: readonly Tool[] = [],
): Promise<ToolResults> {
  const model = scriptedModel([...steps.map((calls) => respond(...calls)), respond(say('Done.'))])
  const agent = createAgent({ model, middleware, tools, maxSteps: steps.length + 1 })
  const collected = await collect(agent.stream('Go'))
  if (collected.error) throw collected.error
  const messages = collected.result?.messages.filter((message) => message.role === 'tool') ?? []
  const texts = messages.map((message) => (message.isError ? 'error: ' : '') + textOf(message))
  return { ...collected, messages, texts }
}
