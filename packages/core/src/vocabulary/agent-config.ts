/** Defines the options of an agent with their defaults applied, as a run reads them. */

import type { Awaitable } from '../flow/flow.ts'
import type { OutputLimits } from './call-limits.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { ToolCall } from './message.ts'
import type { Middleware } from './middleware.ts'
import type { InputLimits, ModelSettings, OutputFormat, ToolChoice } from './model.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import type { AgentSetup } from './tool.ts'
import type { ToolSchema } from './tool-schema.ts'

export interface AgentConfig {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly setup: AgentSetup
  readonly middleware: readonly Middleware[]
  readonly output: Output | undefined
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice
  readonly inputLimits: InputLimits
  readonly outputLimits: OutputLimits
  readonly checkpoints: CheckpointStore | undefined
  readonly grace: number
  readonly statusFor: number
  readonly telemetry: TelemetryOptions | undefined
  readonly prepareInput: ((input: unknown, call: ToolCall) => unknown) | undefined
  readonly unknownTool: ((call: ToolCall) => Awaitable<string>) | undefined
}

export interface Output {
  readonly format: OutputFormat
  readonly schema: ToolSchema
}

/** Whether the model gives the final answer with this call. Such a call executes nothing: its input is the output. */
export function isOutputCall(output: Output | undefined, call: { readonly name: string }): boolean {
  return call.name === output?.format.name
}
