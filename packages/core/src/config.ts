/** The options of an agent, checked. */

import { ConfigError, messageOf } from './errors.ts'
import { freeze } from './history.ts'
import type { ToolCall } from './message.ts'
import type { AgentSetup, Awaitable, Middleware } from './middleware.ts'
import { DEFAULT_INPUT_LIMITS, type InputLimits, type Model, type ModelSettings, type ToolChoice } from './model.ts'
import type { TelemetryOptions } from './telemetry/spans.ts'
import { definitionOf, type Tool } from './tool.ts'

export interface AgentOptions {
  readonly model: Model
  /** For spans and for other agents. */
  readonly name?: string
  /** Reaches the model verbatim; empty means none (A6). */
  readonly instructions?: string
  readonly tools?: readonly Tool[]
  /** The first is the outermost. */
  readonly middleware?: readonly Middleware[]
  readonly settings?: ModelSettings
  /** Default `auto`. */
  readonly toolChoice?: ToolChoice
  /** Model calls, with the calls each asks for, at the most. Default 20; a positive integer or `Infinity`. */
  readonly maxSteps?: number
  /** Calls that execute at once, at the most. Default `Infinity`; 1 means one by one, in call order (A22). */
  readonly toolConcurrency?: number
  /** Changes a call's input before its wraps see it (M10). A throw is that call's failure. */
  prepareInput?(input: unknown, call: ToolCall): unknown
  /** Answers a call to a tool there is not; without it the model reads which tools there are (M8). */
  unknownTool?(call: ToolCall): Awaitable<string>
  /** Each a whole number from 0 on, or `Infinity`. */
  readonly inputLimits?: Partial<InputLimits>
  /** Milliseconds that a tool, or a run, which has been aborted is waited for. Default 1000; `Infinity` waits until it is out (K12). */
  readonly grace?: number
  readonly telemetry?: TelemetryOptions
}

/** An agent's options with their defaults: what a run reads. */
export interface AgentConfig {
  readonly name: string | undefined
  readonly setup: AgentSetup
  readonly middleware: readonly Middleware[]
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice
  readonly inputLimits: InputLimits
  readonly grace: number
  readonly telemetry: TelemetryOptions | undefined
  readonly prepareInput: AgentOptions['prepareInput']
  readonly unknownTool: AgentOptions['unknownTool']
}

/** Throws {@link ConfigError} naming the option (A2). */
export function configOf(options: AgentOptions): AgentConfig {
  const setup: AgentSetup = {
    model: options.model,
    instructions: options.instructions ?? '',
    tools: Object.freeze([...(options.tools ?? [])]),
    maxSteps: options.maxSteps ?? 20,
    toolConcurrency: options.toolConcurrency ?? Number.POSITIVE_INFINITY,
  }
  checkSetup(setup)
  const middleware = Object.freeze([...(options.middleware ?? [])])
  checkNames('middleware', middleware)
  checkOrder(middleware)
  const inputLimits = { ...DEFAULT_INPUT_LIMITS, ...options.inputLimits }
  for (const [name, limit] of Object.entries(inputLimits)) checkLimit(`inputLimits.${name}`, limit)
  const { grace = 1_000 } = options
  if (!(typeof grace === 'number' && grace >= 0))
    throw new ConfigError('grace', `must be a number from 0 on, or Infinity, not ${grace}`)
  return {
    name: options.name,
    setup: Object.freeze(setup),
    middleware,
    settings: freeze(structuredClone(options.settings ?? {})),
    toolChoice: freeze(structuredClone(options.toolChoice ?? 'auto')),
    inputLimits,
    grace,
    telemetry: options.telemetry,
    prepareInput: options.prepareInput,
    unknownTool: options.unknownTool,
  }
}

/** Throws {@link ConfigError} naming the option of a run. */
export function checkRunOptions({ eventBuffer }: { readonly eventBuffer?: number }): void {
  if (eventBuffer !== undefined) checkLimit('eventBuffer', eventBuffer)
}

/** The same checks for what `beforeAgent` made of the set-up (A3). */
export function checkSetup(setup: AgentSetup): AgentSetup {
  if (typeof setup.model?.stream !== 'function') throw new ConfigError('model', 'is missing, or is no model')
  checkCount('maxSteps', setup.maxSteps)
  checkCount('toolConcurrency', setup.toolConcurrency)
  if (!Array.isArray(setup.tools)) throw new ConfigError('tools', 'is no list')
  for (const tool of setup.tools) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name))
      throw new ConfigError('tools', `"${tool.name}" is no tool name: [A-Za-z0-9_-]{1,64}`)
    if (tool.effect === 'reversible' && !tool.compensate) {
      throw new ConfigError('tools', `${tool.name} is declared reversible and has no compensate`)
    }
    checkSchema(tool)
  }
  checkNames('tools', setup.tools)
  return setup
}

function checkSchema(tool: Tool): void {
  try {
    definitionOf(tool)
  } catch (error) {
    throw new ConfigError(
      'tools',
      `the input of ${tool.name} must be a Standard Schema that gives its JSON Schema, as zod 4 schemas do: ${messageOf(error)}`,
    )
  }
}

function checkCount(option: string, value: number): void {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value > 0)) return
  throw new ConfigError(option, `must be a positive integer or Infinity, not ${value}`)
}

function checkLimit(option: string, value: number): void {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 0)) return
  throw new ConfigError(option, `must be a whole number from 0 on, or Infinity, not ${value}`)
}

function checkNames(option: string, named: readonly { readonly name: string }[]): void {
  const names = new Set<string>()
  for (const { name } of named) {
    if (names.has(name)) throw new ConfigError(option, `two of them are named "${name}"`)
    names.add(name)
  }
}

/** What stands outside comes first (O20). */
function checkOrder(middleware: readonly Middleware[]): void {
  const places = new Map(middleware.map(({ name }, place) => [name, place]))
  const check = (outer: string, inner: string) => {
    const [first, second] = [places.get(outer), places.get(inner)]
    if (first === undefined || second === undefined || first < second) return
    throw new ConfigError('middleware', `"${outer}" goes outside "${inner}": put it before it in the list`)
  }
  for (const { name, order } of middleware) {
    for (const inner of order?.outside ?? []) check(name, inner)
    for (const outer of order?.inside ?? []) check(outer, name)
  }
}
