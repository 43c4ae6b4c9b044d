/** An agent as a tool of another. */

import { type Agent, configBehind } from '../agent.ts'
import { runsAgent } from '../state/call-effect.ts'
import { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import type { Effect } from '../vocabulary/effect.ts'
import { AgentError, AnswerError, ConfigError, messageOf, RunStop } from '../vocabulary/errors.ts'
import type { UserMessage } from '../vocabulary/message.ts'
import { checkCount, checkOptions, checkTypes, type OptionNames } from '../vocabulary/option-checks.ts'
import type { AgentResult } from '../vocabulary/result.ts'
import { textInput } from '../vocabulary/text-input.ts'
import type { Tool } from '../vocabulary/tool.ts'
import type { ToolSchema } from '../vocabulary/tool-schema.ts'
import { contextWithin } from './context-within.ts'
import { runWithin } from './nested-run.ts'

export interface AgentToolOptions<Input = AgentRequest> {
  /** Default: the agent's own. */
  readonly name?: string
  /** What the calling model is told. Default: the agent's own. */
  readonly description?: string
  /** Default `{ request: string }`. The agent is told a member `request` as it is, any other input as JSON. */
  readonly input?: ToolSchema<Input>
  /**
   * Default `external`: nobody knows what its tools do. With `calls` the agent may start while the calling model still speaks. Each call
   * of its tools that does more than read waits until that model call has stood. If it does not stand, the agent's model calls were made
   * for nothing.
   */
  readonly effect?: Effect
  /** Whether the reader of the calling run sees the agent's events, tagged with their `path`. Default true. */
  readonly events?: boolean
  /**
   * The agent's context, made of the calling run's: less of it, or another one. It is asked once in each calling run, before that run's first
   * model call. Default: the same context.
   */
  context?(outer: unknown): unknown
  /**
   * Whether the agent's input begins with the history that the calling model saw when it called the agent. Its request follows. Default
   * false.
   */
  readonly history?: boolean
  /** How deep agents may call agents, from 1 on: a call beyond it is an error result, not run. Default 5. */
  readonly maxDepth?: number
}

export interface AgentRequest {
  readonly request: string
}

/**
 * A tool whose call is a run of the agent; its result is the accepted answer, or the agent's `output` where it has a schema.
 * What fails in it is an error result of the call. Cancels and interrupts go through: its state is in the
 * calling run's checkpoint. What it uses counts in the calling run's usage.
 *
 * @throws {ConfigError} It is no agent, or neither it nor the options have a name, or a description.
 */
export function agentTool(agent: Agent, options?: AgentToolOptions): Tool<AgentRequest>

export function agentTool<Input>(
  agent: Agent,
  options: AgentToolOptions<Input> & { readonly input: ToolSchema<Input> },
): Tool<Input>

export function agentTool(agent: Agent, options: AgentToolOptions<unknown> = {}): Tool {
  const config = configBehind(agent)
  checkOptions('agentTool', options, OPTIONS)
  const { name = agent.name, description = agent.description, events = true, history = false, maxDepth = 5 } = options
  if (!name) throw new ConfigError('name', 'an agent without a name needs one as a tool')
  if (!description) throw new ConfigError('description', `${name}: an agent without a description needs one as a tool`)
  checkCount('maxDepth', maxDepth)
  checkTypes('function', { context: options.context })
  const input = options.input ?? REQUEST
  const context = contextWithin(config, options.context)
  const place = { name, input, context, events, maxDepth }
  return {
    name,
    description,
    input,
    ...(context && { context }),
    ...(options.effect && { effect: options.effect }),
    execute: runsAgent(async (asked, calling) => {
      const request = requestOf(asked)
      const input = history ? [...calling.messages, userMessage(request)] : request
      return answerOf(await resultOf(agent, input, calling, place))
    }, config),
  }
}

/** The result of the agent. An error that concerns only the agent fails its call; one that also concerns the calling run ends it. */
async function resultOf(...[agent, request, context, place]: Parameters<typeof runWithin>): Promise<AgentResult> {
  try {
    return await runWithin(agent, request, context, place)
  } catch (error) {
    context.signal.throwIfAborted()
    const concernsCaller = CONCERNING_CALLER.some((Class) => error instanceof Class)
    if (!(error instanceof AgentError) || concernsCaller) throw error
    throw new Error(`${place.name} failed: ${messageOf(error)}`, { cause: error })
  }
}

const OPTIONS: OptionNames<AgentToolOptions> = {
  name: '',
  description: '',
  input: 'inputSchema parameters schema',
  effect: '',
  events: '',
  context: '',
  history: '',
  maxDepth: '',
}

const CONCERNING_CALLER = [RunStop, CheckpointError, AnswerError]

function answerOf({ text, output }: AgentResult): unknown {
  if (output !== undefined) return output
  if (text.trim() === '') throw new Error('the agent gave an empty answer')
  return text
}

function requestOf(input: unknown): string {
  const isRequest = typeof input === 'object' && input !== null && 'request' in input && Object.keys(input).length === 1
  return isRequest && typeof input.request === 'string' ? input.request : JSON.stringify(input)
}

function userMessage(content: string): UserMessage {
  return { role: 'user', content }
}

const REQUEST: ToolSchema<AgentRequest> = textInput('request', 'What the agent is to do, with all it needs to know.')
