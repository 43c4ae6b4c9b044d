/** What users of an `eager()` may set, and its checks. */

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
import type { Evidence } from '../policy.ts'
import type { StepSavings } from '../savings.ts'
import { type HostEffect, unknownTool } from './declared.ts'

/** `'wait'`: this call does not start on this evidence. With nothing said its effect decides. */
export type HostPolicy = (call: ToolCall, context: HostPolicyContext) => 'wait' | undefined

export interface HostPolicyContext {
  readonly effect: HostEffect
  readonly evidence: Exclude<Evidence, 'prefix'>
  /** The model that is asked. */
  readonly model: NamedModel
}

export interface EagerSettings extends Pick<EagerToolsOptions, 'independent' | 'budget'> {
  /** Keeps single calls from an early start. A throw, or another word than `'wait'`, is a warning, and the call waits. */
  readonly policy?: HostPolicy
  /** Ask the model for a stream where the host asks for a whole answer, too. Default `false`. */
  readonly alwaysStream?: boolean
  /** Names of tools under an approval that cannot be seen from here: they never start early. */
  readonly approval?: readonly string[]
  /** How many early calls may execute at once. Default: the host's own limit where it has one, else none. */
  readonly toolConcurrency?: number
  /** Milliseconds for which an early call that nobody asks for is kept, from the last event on. Default 30,000. */
  readonly hold?: number
  /** Whether the provider's own word for a whole call says that nothing of it will change. Default: for providers known to mean that. */
  readonly seals?: boolean
  /** For the `execute_tool` spans of early calls. */
  readonly telemetry?: Pick<TelemetryOptions, 'tracerProvider' | 'meterProvider' | 'captureContent'>
  /** Is told what each step has brought. A throw is a warning. */
  readonly onStep?: (savings: StepSavings) => void
  /** Is told of each warning. Default: `process.emitWarning`, or `console.warn` where there is no process. */
  readonly onWarning?: (warning: Warning) => void
}

const NAMES: OptionNames<EagerSettings> = {
  policy: '',
  independent: '',
  budget: '',
  alwaysStream: 'stream',
  approval: 'interruptOn needsApproval',
  toolConcurrency: 'toolCallConcurrency concurrency',
  hold: '',
  seals: '',
  telemetry: '',
  onStep: 'onStepEnd',
  onWarning: '',
}

/** For each name in `approval` and in `independent` that is the name of none of these tools: the setting, and why. */
export function unknownNames(
  { approval = [], independent = [] }: EagerSettings,
  tools: readonly string[],
): readonly (readonly [setting: string, reason: string])[] {
  return Object.entries({ approval, independent }).flatMap(([setting, names]) =>
    names
      .filter((name) => !tools.includes(name))
      .map((name) => [setting, `${name} ${unknownTool(name, tools)}`] as const),
  )
}

/** @throws {ConfigError} A name in `approval` or `independent` is the name of none of these tools. */
export function checkNames(settings: EagerSettings, tools: readonly string[]): void {
  for (const [setting, reason] of unknownNames(settings, tools)) throw new ConfigError(setting, reason)
}

/** @throws {ConfigError} It names the setting that cannot work. */
export function checkSettings(settings: EagerSettings): void {
  checkOptions('eager', settings, NAMES)
  const { policy, onStep, onWarning, alwaysStream, seals, toolConcurrency, hold } = settings
  for (const [name, value] of Object.entries({ policy, onStep, onWarning })) {
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(name, 'must be a function')
  }
  for (const [name, value] of Object.entries({ alwaysStream, seals })) {
    if (value !== undefined && typeof value !== 'boolean') throw new ConfigError(name, 'must be true or false')
  }
  checkList('independent', settings.independent)
  checkList('approval', settings.approval)
  if (toolConcurrency !== undefined) checkCount('toolConcurrency', toolConcurrency)
  if (hold !== undefined) checkTime('hold', hold)
  checkTelemetry(settings.telemetry)
}
