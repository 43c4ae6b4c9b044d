/** What is read here of LangChain's options, tools, models and messages. Everything else passes through as it is. */

import type { RunnableConfig } from '@langchain/core/runnables'

export interface AgentOptions {
  /** A string is made a model by the agent, for each request. */
  readonly model?: ChatModel | string
  /** Some are only names of what the provider executes. */
  readonly tools?: readonly unknown[]
  readonly middleware?: readonly AgentMiddleware[]
}

export interface AgentMiddleware {
  readonly name: string
  readonly tools?: readonly unknown[]
}

/** What an agent executes by itself. */
export interface AgentTool {
  readonly name: string
  readonly schema?: unknown
  invoke(input: unknown, config?: NodeConfig): Promise<unknown>
}

export interface ChatModel {
  /** Some return a new model, some a binding of themselves. */
  bindTools?(tools: readonly unknown[], ...options: readonly unknown[]): ChatModel
  withConfig?(config: unknown): ChatModel
  getLsParams?(options: object): { readonly ls_provider?: string; readonly ls_model_name?: string }
  invoke(input: unknown, config?: NodeConfig): Promise<unknown>
}

/** What a node of the agent's graph is given, and gives to its model or to its tools. */
export interface NodeConfig extends RunnableConfig {
  /** Of the tools node: what the graph holds. */
  readonly state?: { readonly messages?: unknown }
}

/** What a middleware is told of a request. */
export interface ModelRequest {
  readonly model: ChatModel
}

/** A call as the tools node passes it to a tool. */
export interface AskedCall {
  readonly type: 'tool_call'
  readonly id?: string
  readonly args: unknown
}

export function isAgentTool(tool: unknown): tool is AgentTool {
  return isObject(tool) && 'name' in tool && 'invoke' in tool && typeof tool.invoke === 'function'
}

export function isAskedCall(input: unknown): input is AskedCall {
  return isObject(input) && 'type' in input && input.type === 'tool_call'
}

/** The name by which a model calls a tool. A schema of an answer has it one level below. */
export function toolName(tool: unknown): string | undefined {
  if (!isObject(tool)) return undefined
  if ('name' in tool && typeof tool.name === 'string') return tool.name
  return 'function' in tool ? toolName(tool.function) : undefined
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
