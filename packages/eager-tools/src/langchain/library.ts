/**
 * The parts of LangChain's options, tools, models and messages that `eager()` reads. Everything else is passed on
 * unchanged.
 */

import type { RunnableConfig } from '@langchain/core/runnables'

/** The options of `createAgent`, or of `createDeepAgent`. */
export interface AgentOptions {
  /** From a string, the agent creates a model for each request. */
  readonly model?: ChatModel | string | undefined
  /** Tools executed by the provider may be only names. */
  readonly tools?: readonly unknown[] | undefined
  readonly middleware?: readonly AgentMiddleware[]
  /** Only `createDeepAgent`: which tools need an approval, also in subagents that have no `interruptOn`. */
  readonly interruptOn?: unknown
  /** Only `createDeepAgent`. */
  readonly subagents?: readonly unknown[]
}

/** An agent that a deep agent creates and calls. Without own tools or an own model, it gets those of the deep agent. */
export interface Subagent extends Omit<AgentOptions, 'subagents'> {
  readonly name: string
  /** In a fork, the middlewares of the deep agent are added. */
  readonly mode?: unknown
}

export interface AgentMiddleware {
  readonly name: string
  readonly tools?: readonly unknown[]
}

/** A tool that the agent executes itself. */
export interface AgentTool {
  readonly name: string
  readonly schema?: unknown
  readonly callbacks?: unknown
  readonly verbose?: boolean
  readonly defaultConfig?: RunnableConfig
  /** For the provider. */
  readonly extras?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  invoke(input: unknown, config?: NodeConfig): Promise<unknown>
}

export interface ChatModel {
  /** Some models return a new model, others a binding of themselves. */
  bindTools?(tools: readonly unknown[], ...options: readonly unknown[]): ChatModel
  withConfig?(config: unknown): ChatModel
  getLsParams?(options: object): { readonly ls_provider?: string; readonly ls_model_name?: string }
  invoke(input: unknown, config?: NodeConfig): Promise<unknown>
}

/** The config that a node of the agent's graph receives and passes to its model or its tools. */
export interface NodeConfig extends RunnableConfig {
  /** The same object in all nodes of one run of the graph. */
  readonly control?: object
  readonly context?: unknown
  /** Only in the tools node: the state of the graph. */
  readonly state?: { readonly messages?: unknown }
}

/** The request as middleware receives it. */
export interface ModelRequest {
  readonly model: ChatModel
}

/** A call as the tools node passes it to a tool. */
export interface AskedCall {
  readonly type: 'tool_call'
  readonly id?: string
  readonly args: unknown
}

/** Whether a deep agent creates this subagent itself. Others are agents already, or run on a server. */
export function isSubagent(one: unknown): one is Subagent {
  return isObject(one) && 'name' in one && !('runnable' in one) && !('graphId' in one)
}

export function isAgentTool(tool: unknown): tool is AgentTool {
  return isObject(tool) && 'name' in tool && 'invoke' in tool && typeof tool.invoke === 'function'
}

export function isAskedCall(input: unknown): input is AskedCall {
  return isObject(input) && 'type' in input && input.type === 'tool_call'
}

/** The name by which a model calls a tool. In a schema for a structured response it is one level deeper. */
export function toolName(tool: unknown): string | undefined {
  if (!isObject(tool)) return undefined
  if ('name' in tool && typeof tool.name === 'string') return tool.name
  return 'function' in tool ? toolName(tool.function) : undefined
}

/** Whether this is the schema of a structured response, and not a tool. */
export function isShape(tool: unknown): boolean {
  return isObject(tool) && !('name' in tool) && 'function' in tool
}

export function namesOf(tools: readonly unknown[]): readonly string[] {
  return tools.map(toolName).filter((name) => name !== undefined)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
