/** The options of `createAgent`. */

import type { Awaitable } from '../flow/flow.ts'
import type { OutputLimits } from './call-limits.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { ToolCall } from './message.ts'
import type { Middleware } from './middleware.ts'
import type { InputLimits, Model, ModelSettings, ToolChoice } from './model.ts'
import type { OptionNames } from './option-checks.ts'
import type { TelemetryOptions } from './telemetry-options.ts'
import type { Run, Tool } from './tool.ts'
import type { ToolSchema } from './tool-schema.ts'

/** The options of `createAgent`. */
export interface AgentOptions<
  Output = unknown,
  Tools extends readonly Tool[] = readonly Tool[],
  Middlewares extends readonly Middleware[] = readonly Middleware[],
> {
  /** The model of every step, unless a hook or wrap replaces it. */
  readonly model: Model
  /** Identifies the agent in spans. An `agentTool` uses it as the tool's default name. */
  readonly name?: string
  /** What the agent is for. An `agentTool` uses it as the tool's default description. */
  readonly description?: string
  /**
   * The system prompt, sent to the model verbatim. An empty string means none. A function is called once in each run and once in each resume; it runs
   * as the `beforeAgent` hook of the outermost middleware, which is named `instructions`. If it returns nothing, there are no instructions.
   */
  readonly instructions?: string | ((run: Run) => Awaitable<string>)
  /** The tools that the model may call. Default: none. Two tools must not have the same name. */
  readonly tools?: Tools
  /** The first middleware is the outermost. */
  readonly middleware?: Middlewares
  /**
   * The schema of the final answer, which must be an object. `result.output` is the value that the schema returns. The run rejects an answer that
   * does not match the schema, and the model reads what is wrong with it.
   */
  readonly output?: ToolSchema<Output>
  /** Settings of the model for every step, such as `temperature`. Default: those of the provider. */
  readonly settings?: ModelSettings
  /**
   * Which tools the model must call. Default `auto`. It applies to every step: with `required`, or with a tool, the model calls a tool in each step
   * and never answers with text. To apply it only to some steps, set it in a `wrapModel` that checks `run.step`.
   */
  readonly toolChoice?: ToolChoice
  /** The maximum number of steps. Each step is one model call and the tool calls in its response. Default 20; a positive integer or `Infinity`. */
  readonly maxSteps?: number
  /** The maximum number of tool calls that execute at the same time. Default `Infinity`; 1 executes them one by one, in call order. */
  readonly toolConcurrency?: number
  /** The maximum number of calls that one call makes with `run.callTool` and that execute at the same time. Default `Infinity`. */
  readonly innerConcurrency?: number
  /** Returns the input that a call gets instead of the model's. It runs before the call's wraps. If it throws, the call fails. */
  prepareInput?(input: unknown, call: ToolCall): unknown
  /** Returns the result of a call to an unknown tool. By default the model reads the names of the available tools. */
  unknownTool?(call: ToolCall): Awaitable<string>
  /**
   * Limits on the arguments of one call. Each is an integer of at least 0, or `Infinity`. The depth is at most 512, and the length at most 64 Mi
   * characters, even if you set more.
   */
  readonly inputLimits?: Partial<InputLimits>
  /** The largest result of one call, progress, custom event and question: an integer of at least 0, or `Infinity`. See {@link OutputLimits}. */
  readonly outputLimits?: Partial<OutputLimits>
  /** Stores the checkpoints of runs. Without a store, a run has a checkpoint only when it is interrupted or cancelled. */
  readonly checkpoints?: CheckpointStore
  /** How long the run waits for an aborted tool, wrap or run to end, in milliseconds. Default 1000; `Infinity` waits until it has ended. */
  readonly grace?: number
  /** How long `toolStatus` keeps the status of a call that has ended, in milliseconds. Default 60000; a number of at least 0, or `Infinity`. */
  readonly statusFor?: number
  /** Where spans and metrics go, and what they contain. */
  readonly telemetry?: TelemetryOptions
}

/** Options that the AI SDK has. The type error tells the user what to write. */
export type OtherOptions = {
  /** @deprecated */ readonly system?: 'createAgent() has no system: write instructions'
  /** @deprecated */ readonly stopWhen?: 'createAgent() has no stopWhen: write maxSteps'
  /** @deprecated */ readonly temperature?: 'createAgent() has no temperature: write settings: { temperature }'
  /** @deprecated */ readonly providerOptions?: 'createAgent() has no providerOptions: write settings'
  /** @deprecated */ readonly maxRetries?: 'createAgent() has no maxRetries: use the middleware retryModel()'
  /** @deprecated */ readonly prepareStep?: 'createAgent() has no prepareStep: use a middleware with beforeModel'
  /** @deprecated */ readonly onStepFinish?: 'createAgent() has no onStepFinish: read the events of agent.stream()'
  readonly model?: { readonly specificationVersion?: 'a model of the AI SDK: write aiSdk(model)' }
}

export const AGENT_OPTIONS: OptionNames<AgentOptions> = {
  model: '',
  name: '',
  description: '',
  instructions: 'system systemPrompt prompt',
  tools: '',
  middleware: 'plugins prepareStep activeTools maxRetries onStepFinish onFinish',
  output: 'outputSchema outputType responseFormat schema',
  settings: 'modelSettings temperature maxTokens maxOutputTokens providerOptions',
  toolChoice: '',
  maxSteps: 'maxTurns maxIterations recursionLimit stopWhen',
  toolConcurrency: '',
  innerConcurrency: '',
  prepareInput: '',
  unknownTool: '',
  inputLimits: '',
  outputLimits: '',
  checkpoints: 'checkpointer',
  grace: '',
  statusFor: '',
  telemetry: 'experimental_telemetry',
}
