/** The settings of `eager()` and their checks. */

import {
  ConfigError,
  checkOptions,
  type OptionNames,
  type TelemetryOptions,
  type ToolCall,
  type Warning,
} from '@meanwhile/core'
import { checkCount, checkTelemetry, checkTime } from '@meanwhile/core/calls'
import type { NamedModel } from '../call-maker.ts'
import { checkList } from '../check-list.ts'
import type { EagerToolsOptions } from '../eager-tools.ts'
import { checkSchemas } from '../kept-input.ts'
import type { Evidence } from '../policy.ts'
import type { StepSavings } from '../savings.ts'
import { checkMayBeMissing } from '../unknown-names.ts'
import type { HostEffect } from './declared.ts'

/** Return `'wait'` if this call must not start on this evidence. With `undefined` its effect decides. */
export type HostPolicy = (call: ToolCall, context: HostPolicyContext) => 'wait' | undefined

/** What a `policy` of `eager()` knows about a call. */
export interface HostPolicyContext {
  /** The effect of the call's tool. */
  readonly effect: HostEffect
  /** How certain the call's arguments are. */
  readonly evidence: Exclude<Evidence, 'prefix'>
  /** The model that wrote the call. */
  readonly model: NamedModel
}

/** The settings of `eager()`. */
export interface EagerSettings extends Pick<EagerToolsOptions, 'independent' | 'schemas' | 'budget'> {
  /**
   * Keeps single calls from starting early. If it throws or returns anything else, there is a warning and the call
   * waits.
   */
  readonly policy?: HostPolicy
  /**
   * Streams from the model even where the library requests a whole response. Default `false`.
   *
   * In the AI SDK a model with middleware is then still asked for a whole response, because a stream does not pass the
   * `wrapGenerate` of a middleware. `'wrapped'` streams from it, too. **Set it only if each middleware that has a
   * `wrapGenerate` has a `wrapStream` that does the same: a guardrail that has only `wrapGenerate` is skipped.** In the other
   * libraries it means `true`.
   */
  readonly alwaysStream?: boolean | 'wrapped'
  /** Names of tools whose calls an approval or a limit may prevent that `eager()` cannot detect. They never start early. */
  readonly approval?: readonly string[]
  /**
   * Whether tools that the effects, `approval`, `independent` or `schemas` name may be missing, for example because
   * several agents share these settings. Such a name has no effect. Default `false`: it is a `ConfigError`. In OpenAI
   * Agents, where `eager()` does not know all tools, it is a warning in the first turn if it resembles the name of a tool.
   */
  readonly mayBeMissing?: boolean
  /** How many early calls may execute at once. Default: the library's own limit, or no limit if it has none. */
  readonly toolConcurrency?: number
  /** How long an unused early call is kept after the last event, in milliseconds. Default 30,000. */
  readonly hold?: number
  /**
   * Whether the call is final once the provider has sent it as a whole. Default: `true` for providers known to
   * guarantee that.
   */
  readonly seals?: boolean
  /** For the `execute_tool` spans of early calls. */
  readonly telemetry?: Pick<TelemetryOptions, 'tracerProvider' | 'meterProvider' | 'captureContent'>
  /** Receives the savings of each step. An error is reported as a warning. */
  readonly onStep?: (savings: StepSavings) => void
  /**
   * Receives each warning. Default: `process.emitWarning`, or `console.warn` where there is no process; that also gets an
   * error of `onWarning`, with the warning.
   */
  readonly onWarning?: (warning: Warning) => void
}

const NAMES: OptionNames<EagerSettings> = {
  policy: '',
  independent: '',
  schemas: '',
  budget: '',
  alwaysStream: 'stream',
  approval: 'interruptOn needsApproval',
  mayBeMissing: '',
  toolConcurrency: 'toolCallConcurrency concurrency',
  hold: '',
  seals: '',
  telemetry: '',
  onStep: 'onStepEnd',
  onWarning: '',
}

/** @throws {ConfigError} A setting is invalid; the error names it. */
export function checkSettings(settings: EagerSettings): void {
  checkOptions('eager', settings, NAMES)
  const { policy, onStep, onWarning, alwaysStream, seals, toolConcurrency, hold } = settings
  for (const [name, value] of Object.entries({ policy, onStep, onWarning })) {
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(name, 'must be a function')
  }
  checkMayBeMissing(settings)
  if (seals !== undefined && typeof seals !== 'boolean') throw new ConfigError('seals', 'must be true or false')
  if (alwaysStream !== undefined && alwaysStream !== 'wrapped' && typeof alwaysStream !== 'boolean')
    throw new ConfigError('alwaysStream', "must be true, false or 'wrapped'")
  checkList('independent', settings.independent)
  checkList('approval', settings.approval)
  checkSchemas(settings.schemas)
  if (toolConcurrency !== undefined) checkCount('toolConcurrency', toolConcurrency)
  if (hold !== undefined) checkTime('hold', hold)
  checkTelemetry(settings.telemetry)
}
