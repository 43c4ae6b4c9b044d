/** The options of an agent, as its author writes them. */

import type { Awaitable } from '../flow/flow.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { ToolCall } from './message.ts'
import type { Middleware } from './middleware.ts'
import type { InputLimits, Model, ModelSettings, ToolChoice } from './model.ts'
import type { OptionNames } from './option-checks.ts'
import type { OutputLimits } from './output-limits.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import type { Run, Tool } from './tool.ts'
import type { ToolSchema } from './tool-schema.ts'

export interface AgentOptions<Output = unknown> {
  readonly model: Model
  /** For spans and for other agents. */
  readonly name?: string
  /** What it is for: what other agents are told of it (`agentTool`). */
  readonly description?: string
  /**
   * Reaches the model verbatim; empty means none. A function is asked once in each run, and once in each resume: it is the
   * `beforeAgent` of a middleware named `instructions`, which is the outermost. Nothing returned means none.
   */
  readonly instructions?: string | ((run: Run) => Awaitable<string>)
  readonly tools?: readonly Tool[]
  /** The first is the outermost. */
  readonly middleware?: readonly Middleware[]
  /**
   * What the final answer must be: the schema of an object. `result.output` is the answer as it gives it back; an answer
   * that does not fit is rejected, with what is wrong as feedback.
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
  /** Calls that execute at once, at the most. Default `Infinity`; 1 means one by one, in call order. */
  readonly toolConcurrency?: number
  /** Calls that one call makes by `run.callTool` and that execute at once, at the most. Default `Infinity`. */
  readonly innerConcurrency?: number
  /** Changes a call's input before its wraps see it. A throw is that call's failure. */
  prepareInput?(input: unknown, call: ToolCall): unknown
  /** Answers a call to a tool there is not; without it the model reads which tools there are. */
  unknownTool?(call: ToolCall): Awaitable<string>
  /** Each a whole number from 0 on, or `Infinity`. More than 512 levels count as 512, more than 64 Mi characters as 64 Mi. */
  readonly inputLimits?: Partial<InputLimits>
  /** A whole number from 0 on, or `Infinity`. Of a larger result the model reads only that the call ran, and how large it is. */
  readonly outputLimits?: Partial<OutputLimits>
  /** Where checkpoints are kept. Without a store a run makes one only when it is interrupted or cancelled. */
  readonly checkpoints?: CheckpointStore
  /**
   * Milliseconds that a tool, or a run, which has been aborted is waited for. Default 1000; `Infinity` waits until it is
   * out.
   */
  readonly grace?: number
  /** Milliseconds for which `toolStatus` remembers a call that has ended. Default 60000; from 0 on, or `Infinity`. */
  readonly statusFor?: number
  readonly telemetry?: TelemetryOptions
}

export const AGENT_OPTIONS: OptionNames<AgentOptions> = {
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
