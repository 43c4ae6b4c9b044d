/** Checks the options of an agent and applies their defaults. */

import { checkIgnoresInput } from './execution/needs.ts'
import { middlewareList } from './middleware/middleware-list.ts'
import { outputOf } from './output/output.ts'
import { checkModel, checkSetup } from './run/set-up.ts'
import { withStatusTool } from './run/status-tool.ts'
import { captureOf, checkTelemetry } from './telemetry/options.ts'
import type { AgentConfig } from './vocabulary/agent-config.ts'
import { AGENT_OPTIONS, type AgentOptions } from './vocabulary/agent-options.ts'
import { DEFAULT_OUTPUT_LIMITS } from './vocabulary/call-limits.ts'
import { checkStore } from './vocabulary/checkpoint-store.ts'
import { ConfigError, messageOf } from './vocabulary/errors.ts'
import { freeze } from './vocabulary/history.ts'
import { isRecord } from './vocabulary/json.ts'
import { DEEPEST, LONGEST } from './vocabulary/json-text.ts'
import type { Middleware } from './vocabulary/middleware.ts'
import { DEFAULT_INPUT_LIMITS, type ModelSettings } from './vocabulary/model.ts'
import { checkLimit, checkOptions, checkTime, checkTypes, type OptionNames } from './vocabulary/option-checks.ts'
import type { AgentSetup, Tool } from './vocabulary/tool.ts'
import { checkChoice, toolList } from './vocabulary/tool-checks.ts'

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

/** @throws {ConfigError} An option is invalid. The error names it. */
export function configOf(options: AgentOptions): AgentConfig {
  checkOptions('createAgent', options, AGENT_OPTIONS)
  checkModel(options?.model)
  checkTelemetry(options.telemetry)
  checkOptions('settings', options.settings, SETTINGS, 'settings.')
  checkOptions('inputLimits', options.inputLimits, { characters: '', depth: '' }, 'inputLimits.')
  checkOptions('outputLimits', options.outputLimits, { characters: '' }, 'outputLimits.')
  const { instructions } = options
  const isAsked = typeof instructions === 'function'
  const setup: AgentSetup = {
    model: options.model,
    instructions: isAsked ? '' : (instructions ?? ''),
    tools: Object.freeze([...toolList(options.tools ?? [])]),
    maxSteps: options.maxSteps ?? 20,
    toolConcurrency: options.toolConcurrency ?? Number.POSITIVE_INFINITY,
    innerConcurrency: options.innerConcurrency ?? Number.POSITIVE_INFINITY,
    captureContent: captureOf(options.telemetry?.captureContent),
  }
  const output = options.output && outputOf(options.output)
  const tools = withStatusTool(setup.tools)
  checkSetup({ ...setup, tools }, output)
  const middleware = middlewareList(options.middleware ?? [], isAsked ? [asking(instructions)] : [])
  checkIgnoresInput(middleware, tools)
  const toolChoice = options.toolChoice ?? 'auto'
  checkToolChoice({ toolChoice, output, middleware }, tools)
  const { name, description, prepareInput, unknownTool, checkpoints } = options
  checkTypes('string', options, ['name', 'description'])
  checkTypes('function', options, ['prepareInput', 'unknownTool'])
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

/** A middleware whose `beforeAgent` asks for the instructions of a run before all other hooks. */
function asking(instructions: Exclude<AgentOptions['instructions'], string | undefined>): Middleware {
  return {
    name: 'instructions',
    beforeAgent: async (setup, run) => ({ ...setup, instructions: (await instructions(run)) ?? '' }),
  }
}

function limitsOf<Limits extends object>(option: string, given: Partial<Limits> | undefined, defaults: Limits): Limits {
  const limits = { ...defaults, ...given }
  for (const [name, limit] of Object.entries(limits)) checkLimit(`${option}.${name}`, limit)
  return limits
}

/** Requests are JSON, and the caller may change its own object later. */
function copyOf(settings: ModelSettings): ModelSettings {
  try {
    return freeze(structuredClone(settings))
  } catch (error) {
    throw new ConfigError('settings', `must be JSON: ${messageOf(error)}`)
  }
}

/** @throws {ConfigError} The choice is invalid, or the model must call a tool that does not exist and that no hook or wrap can add. */
function checkToolChoice(
  { toolChoice, output, middleware }: Pick<AgentConfig, 'toolChoice' | 'output' | 'middleware'>,
  tools: readonly Tool[],
): void {
  const given: unknown = isRecord(toolChoice) ? toolChoice.tool : toolChoice
  if (typeof given !== 'string' || (given === toolChoice && !['auto', 'none', 'required'].includes(given)))
    throw new ConfigError('toolChoice', "must be 'auto', 'none', 'required' or { tool: name }")
  const mayBeAdded = middleware.some((one) => one.beforeAgent || one.wrapAgent || one.wrapModel)
  if (!mayBeAdded) checkChoice({ toolChoice, tools, output: output?.format })
}
