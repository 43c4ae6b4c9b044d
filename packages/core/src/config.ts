/** The options of an agent, checked. */

import type { AgentConfig, Output } from './agent-config.ts'
import type { CheckpointStore } from './checkpoint/checkpoint-store.ts'
import { isEffect } from './effect.ts'
import { ConfigError, messageOf } from './errors.ts'
import type { Awaitable } from './flow/flow.ts'
import { middlewareList } from './hooks/middleware-list.ts'
import { isRecord } from './json.ts'
import { DEEPEST, LONGEST } from './json-text.ts'
import type { ToolCall } from './message.ts'
import type { Middleware } from './middleware.ts'
import { DEFAULT_INPUT_LIMITS, type InputLimits, type Model, type ModelSettings, type ToolChoice } from './model.ts'
import { outputOf } from './model-call/output.ts'
import { checkIgnoresInput } from './needs/needs.ts'
import {
  checkCount,
  checkLimit,
  checkOptions,
  checkSignal,
  checkTime,
  checkTypes,
  type OptionNames,
} from './option-checks.ts'
import { freeze } from './run/history.ts'
import type { ResumeOptions, RunOptions } from './run-options.ts'
import { captureOf, checkTelemetry, type TelemetryOptions } from './telemetry/options.ts'
import type { AgentSetup, Tool, ToolSchema } from './tool.ts'
import { checkAliases, findTool } from './tool-call/aliases.ts'
import { DEFAULT_OUTPUT_LIMITS, type OutputLimits } from './tool-call/output-limits.ts'
import { withStatusTool } from './tool-call/status-tool.ts'
import { checkTool, toolList } from './tool-checks.ts'

export interface AgentOptions<Output = unknown> {
  readonly model: Model
  /** For spans and for other agents. */
  readonly name?: string
  /** What it is for: what other agents are told of it ({@link agentTool}). */
  readonly description?: string
  /** Reaches the model verbatim; empty means none (A6). */
  readonly instructions?: string
  readonly tools?: readonly Tool[]
  /** The first is the outermost. */
  readonly middleware?: readonly Middleware[]
  /**
   * What the final answer must be: the schema of an object. `result.output` is the answer as it gives it back; an answer
   * that does not fit is rejected, with what is wrong as feedback (M14).
   */
  readonly output?: ToolSchema<Output>
  readonly settings?: ModelSettings
  /**
   * Default `auto`. It holds in every step: with `required`, or a tool, a model calls each time and gets to no text. A `wrapModel` asks for
   * it in some steps alone, by `run.step`.
   */
  readonly toolChoice?: ToolChoice
  /** Model calls, with the calls each asks for, at the most. Default 20; a positive integer or `Infinity`. */
  readonly maxSteps?: number
  /** Calls that execute at once, at the most. Default `Infinity`; 1 means one by one, in call order (A22). */
  readonly toolConcurrency?: number
  /** Calls that one call makes by `run.callTool` and that execute at once, at the most. Default `Infinity`. */
  readonly innerConcurrency?: number
  /** Changes a call's input before its wraps see it (M10). A throw is that call's failure. */
  prepareInput?(input: unknown, call: ToolCall): unknown
  /** Answers a call to a tool there is not; without it the model reads which tools there are (M8). */
  unknownTool?(call: ToolCall): Awaitable<string>
  /** Each a whole number from 0 on, or `Infinity`. More than 512 levels count as 512, more than 64 Mi characters as 64 Mi. */
  readonly inputLimits?: Partial<InputLimits>
  /** A whole number from 0 on, or `Infinity`. Of a larger result the model reads only that the call ran, and how large it is. */
  readonly outputLimits?: Partial<OutputLimits>
  /** Where checkpoints are kept. Without a store a run makes one only when it is interrupted or cancelled (L1, L15). */
  readonly checkpoints?: CheckpointStore
  /**
   * Milliseconds that a tool, or a run, which has been aborted is waited for. Default 1000; `Infinity` waits until it is
   * out (K12).
   */
  readonly grace?: number
  /** Milliseconds for which `toolStatus` remembers a call that has ended. Default 60000; from 0 on, or `Infinity` (I6). */
  readonly statusFor?: number
  readonly telemetry?: TelemetryOptions
}

const AGENT_OPTIONS: OptionNames<AgentOptions> = {
  model: '',
  name: '',
  description: '',
  instructions: 'system systemPrompt prompt',
  tools: '',
  middleware: 'plugins',
  output: 'outputSchema outputType responseFormat',
  settings: 'modelSettings temperature maxTokens',
  toolChoice: '',
  maxSteps: 'maxTurns maxIterations recursionLimit',
  toolConcurrency: '',
  innerConcurrency: '',
  prepareInput: '',
  unknownTool: '',
  inputLimits: '',
  outputLimits: '',
  checkpoints: 'checkpointer',
  grace: '',
  statusFor: '',
  telemetry: '',
}

const SETTINGS: OptionNames<ModelSettings> = {
  maxTokens: 'maxOutputTokens',
  temperature: '',
  topP: '',
  topK: '',
  frequencyPenalty: '',
  presencePenalty: '',
  stopSequences: '',
  seed: '',
  parallelToolCalls: '',
  providerOptions: '',
}

const INPUT_LIMITS: OptionNames<InputLimits> = { characters: '', depth: '' }

const OUTPUT_LIMITS: OptionNames<OutputLimits> = { characters: '' }

const RUN_OPTIONS: OptionNames<RunOptions> = {
  signal: 'abortSignal',
  conversationId: '',
  eventBuffer: '',
}

const RESUME_OPTIONS: OptionNames<ResumeOptions> = { ...RUN_OPTIONS, rerun: '' }

/** Throws {@link ConfigError} naming the option (A2). */
export function configOf(options: AgentOptions): AgentConfig {
  checkOptions('createAgent', options, AGENT_OPTIONS)
  checkModel(options?.model)
  checkTelemetry(options.telemetry)
  checkOptions('settings', options.settings, SETTINGS, 'settings.')
  checkOptions('inputLimits', options.inputLimits, INPUT_LIMITS, 'inputLimits.')
  checkOptions('outputLimits', options.outputLimits, OUTPUT_LIMITS, 'outputLimits.')
  const setup: AgentSetup = {
    model: options.model,
    instructions: options.instructions ?? '',
    tools: Object.freeze([...toolList(options.tools ?? [])]),
    maxSteps: options.maxSteps ?? 20,
    toolConcurrency: options.toolConcurrency ?? Number.POSITIVE_INFINITY,
    innerConcurrency: options.innerConcurrency ?? Number.POSITIVE_INFINITY,
    captureContent: captureOf(options.telemetry?.captureContent),
  }
  const output = options.output && outputOf(options.output)
  const tools = withStatusTool(setup.tools)
  checkSetup({ ...setup, tools }, output)
  const middleware = middlewareList(options.middleware ?? [])
  checkIgnoresInput(middleware, tools)
  const toolChoice = options.toolChoice ?? 'auto'
  checkToolChoice({ toolChoice, output, middleware }, tools)
  const { name, description, prepareInput, unknownTool, checkpoints } = options
  checkTypes('string', { name, description })
  checkTypes('function', { prepareInput, unknownTool })
  checkStore(checkpoints)
  const { characters, depth } = limitsOf('inputLimits', options.inputLimits, DEFAULT_INPUT_LIMITS)
  const { grace = 1_000, statusFor = 60_000 } = options
  checkTime('grace', grace)
  checkTime('statusFor', statusFor)
  return {
    name,
    description,
    setup: Object.freeze(setup),
    middleware,
    output,
    settings: copyOf(options.settings ?? {}),
    toolChoice: freeze(structuredClone(toolChoice)),
    inputLimits: Object.freeze({ characters: Math.min(characters, LONGEST), depth: Math.min(depth, DEEPEST) }),
    outputLimits: Object.freeze(limitsOf('outputLimits', options.outputLimits, DEFAULT_OUTPUT_LIMITS)),
    checkpoints,
    grace,
    statusFor,
    telemetry: options.telemetry,
    prepareInput,
    unknownTool,
  }
}

/** Throws {@link ConfigError} naming the option of a run. */
export function checkRunOptions(options: ResumeOptions, isResume: boolean): void {
  if (options instanceof AbortSignal) throw new ConfigError('signal', 'goes into an object: { signal }')
  const [owner, names] = isResume ? (['a resume', RESUME_OPTIONS] as const) : (['a run', RUN_OPTIONS] as const)
  for (const name of Object.keys(options ?? {})) {
    if (Object.hasOwn(AGENT_OPTIONS, name))
      throw new ConfigError(name, `is no option of ${owner}; it is one of createAgent`)
    if (name === 'rerun' && !isResume) throw new ConfigError(name, 'is no option of a run; it is one of resume')
  }
  checkOptions(owner, options, names)
  const { signal, eventBuffer, rerun } = options
  checkSignal('signal', signal)
  if (eventBuffer !== undefined) checkLimit('eventBuffer', eventBuffer)
  if (rerun !== undefined && !(Array.isArray(rerun) && rerun.every(isEffect)))
    throw new ConfigError('rerun', 'must be a list of effects')
}

/** The same checks for what a hook or wrap made of the set-up (A3). Its tools are a {@link toolList}. */
export function checkSetup(setup: AgentSetup, output: Output | undefined): AgentSetup {
  checkModel(setup.model)
  checkTypes('string', { instructions: setup.instructions })
  checkCount('maxSteps', setup.maxSteps)
  checkCount('toolConcurrency', setup.toolConcurrency)
  checkCount('innerConcurrency', setup.innerConcurrency)
  if (typeof setup.captureContent !== 'boolean' && typeof setup.captureContent !== 'function')
    throw new ConfigError('telemetry.captureContent', 'must be true, false or a function')
  for (const tool of setup.tools) checkTool(tool)
  checkAliases(setup.tools)
  const taken = output && findTool(setup.tools, output.format.name)
  if (taken) {
    throw new ConfigError(
      'tools',
      `${taken.name} and the tool that gives the output are both called "${output.format.name}"`,
    )
  }
  return setup
}

function limitsOf<Limits extends object>(option: string, given: Partial<Limits> | undefined, defaults: Limits): Limits {
  const limits = { ...defaults, ...given }
  for (const [name, limit] of Object.entries(limits)) checkLimit(`${option}.${name}`, limit)
  return limits
}

/** Requests are JSON, and the caller's own object is the caller's. */
function copyOf(settings: ModelSettings): ModelSettings {
  try {
    return freeze(structuredClone(settings))
  } catch (error) {
    throw new ConfigError('settings', `hold what is no JSON: ${messageOf(error)}`)
  }
}

/** Throws {@link ConfigError} if the model must call a tool there is not, nor could be: a hook or wrap may add it. */
function checkToolChoice(
  { toolChoice, output, middleware }: Pick<AgentConfig, 'toolChoice' | 'output' | 'middleware'>,
  tools: readonly Tool[],
): void {
  if (['auto', 'none', 'required'].some((word) => word === toolChoice)) return
  const name: unknown = isRecord(toolChoice) ? toolChoice.tool : undefined
  if (typeof name !== 'string')
    throw new ConfigError('toolChoice', "must be 'auto', 'none', 'required' or { tool: name }")
  if (name === output?.format.name || tools.some((tool) => tool.name === name)) return
  const isFixed = middleware.every(({ beforeAgent, wrapAgent, wrapModel }) => !(beforeAgent || wrapAgent || wrapModel))
  if (isFixed) throw new ConfigError('toolChoice', `there is no tool "${name}"`)
}

function checkModel(model: Model | undefined): void {
  if (typeof model?.stream !== 'function') throw new ConfigError('model', 'is missing, or is no model')
}

function checkStore(store: CheckpointStore | undefined): void {
  if (store && (typeof store.load !== 'function' || typeof store.save !== 'function'))
    throw new ConfigError('checkpoints', 'must be a store, such as memoryStore() gives: with load and save')
}
