/** Makes an agent a tool of another agent. */

import { type Agent, configBehind } from '../agent.ts'
import { runsAgent } from '../state/call-effect.ts'
import { insideText, stoppedCalls } from '../tool-call/stopped-calls.ts'
import { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import type { Effect } from '../vocabulary/effect.ts'
import { AgentError, AnswerError, ConfigError, messageOf, RunStop } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import { checkCount, checkOptions, checkTypes, type OptionNames } from '../vocabulary/option-checks.ts'
import type { AgentResult } from '../vocabulary/result.ts'
import type { DeclaredContext } from '../vocabulary/run-options.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { type ToolSchema, textInput } from '../vocabulary/tool-schema.ts'
import { contextWithin, runWithin } from './nested-run.ts'

/** The options of `agentTool`. `Context`: the type of the agent's context. */
export interface AgentToolOptions<Input = AgentRequest, Context = unknown> {
  /** The name of the tool. Default: the agent's name. */
  readonly name?: string
  /** The description that the calling model reads. Default: the agent's description. */
  readonly description?: string
  /** The input of the tool. Default `{ request: string }`. The agent gets the member `request` as its input text, any other input as JSON. */
  readonly input?: ToolSchema<Input>
  /**
   * The effect of a call. Default `external`, because the tools of the agent may do anything. With `calls` the agent may start while the calling
   * model is still streaming. Then each call of its tools whose effect is not `read` waits until that model call has succeeded. If that model call
   * fails, the model calls of the agent were wasted.
   */
  readonly effect?: Effect
  /** Whether the agent's events appear in the calling run, with their `path`; if not, only questions and decisions about approvals do. Default true. */
  readonly events?: boolean
  /** Returns the agent's context. Called once in each calling run, before its first model call. Default: the context of the calling run. */
  context?(outer: unknown): Context | Promise<Context>
  /** Whether the agent's input begins with the history of the calling run, followed by the request. Default false. */
  readonly history?: boolean
  /** How deep agents may call agents: an integer of at least 1. A deeper call does not run and gets an error result. Default 5. */
  readonly maxDepth?: number
}

/** The input of an `agentTool` without its own `input` schema. */
export interface AgentRequest {
  /** The task for the agent: the text of its user message. */
  readonly request: string
}

/**
 * Returns a tool that runs the agent. Its result is the accepted answer, or the agent's `output` if it has a schema. An error of the agent is an
 * error result of the call. Cancels and interrupts pass through: the agent's state is saved in the checkpoint of the calling run. The tokens that it
 * uses count in the usage of the calling run.
 *
 * @throws {ConfigError} The value is not an agent, or neither it nor the options have a name, or a description.
 */
export function agentTool<Context, Options extends AgentToolOptions<AgentRequest, Context>>(
  agent: Agent<unknown, Context>,
  options?: Options,
): Tool<AgentRequest> & PassedOn<Context, Options>

export function agentTool<Input, Context, Options extends AgentToolOptions<Input, Context>>(
  agent: Agent<unknown, Context>,
  options: Options & { readonly input: ToolSchema<Input> },
): Tool<Input> & PassedOn<Context, Options>

export function agentTool(agent: Agent, options: AgentToolOptions<unknown> = {}): Tool {
  const config = configBehind(agent)
  checkOptions('agentTool', options, OPTIONS)
  const { name = agent.name, description = agent.description, events = true, history = false, maxDepth = 5 } = options
  if (!name) throw new ConfigError('name', 'is required: the agent has no name')
  if (!description) throw new ConfigError('description', `is required for ${name}: the agent has no description`)
  checkCount('maxDepth', maxDepth)
  checkTypes('function', options, ['context'])
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
      const input = history ? [...calling.messages, { role: 'user', content: request } as const] : request
      return answerOf(await resultOf(agent, input, calling, place))
    }, config),
  }
}

/** The context that the calling run needs for the agent: none if the options make it. */
type PassedOn<Context, Options> = Options extends { readonly context: unknown } ? unknown : DeclaredContext<Context>

/** The result of the agent. An error that concerns only the agent fails its call; one that also concerns the calling run ends it. */
async function resultOf(...[agent, request, context, place]: Parameters<typeof runWithin>): Promise<AgentResult> {
  try {
    return await runWithin(agent, request, context, place)
  } catch (error) {
    context.signal.throwIfAborted()
    const concernsCaller = CONCERNING_CALLER.some((Class) => error instanceof Class)
    if (!(error instanceof AgentError) || concernsCaller) throw error
    const ran = { messages: error.messages ?? [], calls: [], interrupts: [] }
    const inside = insideText(stoppedCalls(ran, context.messages))
    throw new Error(`${place.name} failed: ${messageOf(error)}${inside}`, { cause: error })
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
  if (text.trim() === '') throw new Error('the agent returned an empty answer')
  return text
}

function requestOf(input: unknown): string {
  const isRequest = isRecord(input) && 'request' in input && Object.keys(input).length === 1
  return isRequest && typeof input.request === 'string' ? input.request : JSON.stringify(input)
}

const REQUEST: ToolSchema<AgentRequest> = textInput(
  'request',
  'The task of the agent, with everything it needs to know.',
)
