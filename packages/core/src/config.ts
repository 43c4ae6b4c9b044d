/** The options of an agent, checked. */

import type { CheckpointStore } from './checkpoint/checkpoint-store.ts'
import { ConfigError } from './errors.ts'
import { middlewareList } from './hooks/middleware-list.ts'
import { isRecord } from './json.ts'
import type { ToolCall } from './message.ts'
import type { AgentSetup, Awaitable, Middleware } from './middleware.ts'
import { DEFAULT_INPUT_LIMITS, type InputLimits, type Model, type ModelSettings, type ToolChoice } from './model.ts'
import { type Output, outputOf } from './model-call/output.ts'
import { freeze } from './run/history.ts'
import { captureOf } from './telemetry/content.ts'
import type { TelemetryOptions } from './telemetry/options.ts'
import { definitionOf, type Effect, isEffect, type Tool, type ToolSchema } from './tool.ts'
import { checkAliases, findTool } from './tool-call/aliases.ts'

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
  /** Changes a call's input before its wraps see it (M10). A throw is that call's failure. */
  prepareInput?(input: unknown, call: ToolCall): unknown
  /** Answers a call to a tool there is not; without it the model reads which tools there are (M8). */
  unknownTool?(call: ToolCall): Awaitable<string>
  /** Each a whole number from 0 on, or `Infinity`. */
  readonly inputLimits?: Partial<InputLimits>
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

/** An agent's options with their defaults: what a run reads. */
export interface AgentConfig {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly setup: AgentSetup
  readonly middleware: readonly Middleware[]
  readonly output: Output | undefined
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice
  readonly inputLimits: InputLimits
  readonly checkpoints: CheckpointStore | undefined
  readonly grace: number
  readonly statusFor: number
  readonly telemetry: TelemetryOptions | undefined
  readonly prepareInput: AgentOptions['prepareInput']
  readonly unknownTool: AgentOptions['unknownTool']
}

/** Throws {@link ConfigError} naming the option (A2). */
export function configOf(options: AgentOptions): AgentConfig {
  const setup: AgentSetup = {
    model: options.model,
    instructions: options.instructions ?? '',
    tools: Object.freeze([...toolList(options.tools ?? [])]),
    maxSteps: options.maxSteps ?? 20,
    toolConcurrency: options.toolConcurrency ?? Number.POSITIVE_INFINITY,
    captureContent: captureOf(options.telemetry?.captureContent),
  }
  const output = options.output && outputOf(options.output)
  checkSetup(setup, output)
  const middleware = middlewareList(options.middleware ?? [])
  const inputLimits = { ...DEFAULT_INPUT_LIMITS, ...options.inputLimits }
  for (const [name, limit] of Object.entries(inputLimits)) checkLimit(`inputLimits.${name}`, limit)
  const { grace = 1_000, statusFor = 60_000 } = options
  checkTime('grace', grace)
  checkTime('statusFor', statusFor)
  return {
    name: options.name,
    description: options.description,
    setup: Object.freeze(setup),
    middleware,
    output,
    settings: freeze(structuredClone(options.settings ?? {})),
    toolChoice: freeze(structuredClone(options.toolChoice ?? 'auto')),
    inputLimits,
    checkpoints: options.checkpoints,
    grace,
    statusFor,
    telemetry: options.telemetry,
    prepareInput: options.prepareInput,
    unknownTool: options.unknownTool,
  }
}

/** Throws {@link ConfigError} naming the option of a run. */
export function checkRunOptions(options: { readonly eventBuffer?: number; readonly rerun?: readonly Effect[] }): void {
  const { eventBuffer, rerun } = options
  if (eventBuffer !== undefined) checkLimit('eventBuffer', eventBuffer)
  if (rerun !== undefined && !(Array.isArray(rerun) && rerun.every(isEffect)))
    throw new ConfigError('rerun', 'must be a list of effects')
}

/** Throws {@link ConfigError} unless these are a list of tools, by their shape: types do not hold everybody. */
export function toolList(tools: readonly Tool[]): readonly Tool[] {
  if (!Array.isArray(tools)) throw new ConfigError('tools', 'is no list')
  if (tools.some((one) => !isRecord(one))) throw new ConfigError('tools', 'one of them is no tool')
  return tools
}

/** The same checks for what a hook or wrap made of the set-up (A3). Its tools are a {@link toolList}. */
export function checkSetup(setup: AgentSetup, output: Output | undefined): AgentSetup {
  if (typeof setup.model?.stream !== 'function') throw new ConfigError('model', 'is missing, or is no model')
  checkCount('maxSteps', setup.maxSteps)
  checkCount('toolConcurrency', setup.toolConcurrency)
  if (typeof setup.captureContent !== 'boolean' && typeof setup.captureContent !== 'function')
    throw new ConfigError('telemetry.captureContent', 'must be true, false or a function')
  for (const tool of setup.tools) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name))
      throw new ConfigError('tools', `"${tool.name}" is no tool name: [A-Za-z0-9_-]{1,64}`)
    if (tool.effect !== undefined && typeof tool.effect !== 'function' && !isEffect(tool.effect))
      throw new ConfigError('tools', `${tool.name} has an effect there is not: ${String(tool.effect)}`)
    if (!isBackground(tool.background))
      throw new ConfigError(
        'tools',
        `${tool.name}: background must be a boolean, or { atEnd: 'wait' | 'cancel' | 'detach' }`,
      )
    if (tool.background && !tool.execute)
      throw new ConfigError('tools', `${tool.name} is declared background and has no execute to work there`)
    if (tool.effect === 'reversible' && !tool.compensate) {
      throw new ConfigError('tools', `${tool.name} is declared reversible and has no compensate`)
    }
    checkEarly(tool)
    definitionOf(tool)
    checkLimits(`tools.${tool.name}`, tool)
  }
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

function isBackground(background: unknown): boolean {
  if (background === undefined || typeof background === 'boolean') return true
  if (typeof background !== 'object' || background === null) return false
  const { atEnd = 'wait' } = background as { readonly atEnd?: unknown }
  return ['wait', 'cancel', 'detach'].some((known) => known === atEnd)
}

/** Work before the input is whole, or known, is for tools that change nothing (H33). */
function checkEarly({ name, needs, warm, effect }: Tool): void {
  for (const [option, given] of Object.entries({ needs, warm })) {
    if (given !== undefined && effect !== 'read')
      throw new ConfigError('tools', `${name} has ${option} and is not declared read`)
  }
  if (
    needs === undefined ||
    (Array.isArray(needs) && needs.length > 0 && needs.every((key) => typeof key === 'string'))
  )
    return
  throw new ConfigError('tools', `the needs of ${name} are no list of members of its input`)
}

/** Throws {@link ConfigError} naming what of a tool's own limits cannot work (A2). */
export function checkLimits(option: string, limits: Pick<Tool, 'timeout' | 'cancelable' | 'concurrency'>): void {
  const { timeout, cancelable, concurrency } = limits
  if (timeout !== undefined) mustBe('a number above 0', `${option}.timeout`, timeout, timeout > 0)
  if (cancelable !== undefined && typeof cancelable !== 'boolean')
    throw new ConfigError(`${option}.cancelable`, `must be true or false, not ${String(cancelable)}`)
  if (concurrency === undefined) return
  const { limit, whenFull = 'wait' } =
    typeof concurrency === 'object' && concurrency !== null ? concurrency : { limit: concurrency }
  checkCount(`${option}.concurrency`, limit)
  if (whenFull !== 'wait' && whenFull !== 'fail')
    throw new ConfigError(`${option}.concurrency.whenFull`, `must be 'wait' or 'fail', not ${String(whenFull)}`)
}

/** Throws {@link ConfigError} unless it is a time that can be waited. */
export function checkTime(option: string, value: number): void {
  mustBe('a number from 0 on', option, value, value >= 0)
}

function checkCount(option: string, value: number): void {
  mustBe('a positive integer', option, value, isWhole(value) && value > 0)
}

function checkLimit(option: string, value: number): void {
  mustBe('a whole number from 0 on', option, value, isWhole(value) && value >= 0)
}

function isWhole(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || Number.isInteger(value)
}

function mustBe(what: string, option: string, value: number, holds: boolean): void {
  if (typeof value !== 'number' || !holds)
    throw new ConfigError(option, `must be ${what}, or Infinity, not ${String(value)}`)
}
